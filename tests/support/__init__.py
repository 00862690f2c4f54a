"""What tests share, by what a test is about. All of it may import everything but a test.

A history and its check:

    histories           a story of sends, reads, faults; `with_story` gives a test its own
    story_parts         more parts: of transformers, of what was kept of brokers' logs
    story_runs          a story as a sealed run in files, and many checked in one Spark job
    stored_runs         a story as a run in memory, without files and Spark
    recorded_runs       a run in files as workers record it, before and after sealing
    spoiled             recorded runs that are damaged, or changed and sealed anew
    two_tables          a history as two tables of sends and reads
    foreign_lines       a history as other tools' lines, imported
    jepsen              a history as Jepsen's operations
    random_histories    any operations, and histories with planted anomalies
    oracles             a second opinion on anomalies, in plain Python
    permissions         a second opinion on what permits a record
    permitting          what a safe configuration forbids, what a cause permits
    clusters            views, faults and settings from which causes are found
    pages               reports, and their pages as a reader and as a browser see them

A cluster and its faults:

    conducted_plans     a plan that is conducted over a cluster in memory
    disk_nodes          brokers with real files and no processes
    log_segments        a partition's log, byte by byte
    mock_kafka          brokers without Kafka, for real workers
    worker_processes    a worker as a process against them
    worker_sessions     a worker's session in the test's process
    labs                Docker, Kubernetes, networks, stores, Spark: real ones

The command, its host, its code:

    commands            the command as a process or called, and the run that it leaves
    consoles            the commands of a page, and what it shows of them
    scenarios           the shipped scenarios' schema and differences
    config_files        what files say, and a scenario that they are laid over
    source_files        our Python files as syntax trees
    needs               what a test needs beyond Python: a skip with its reason
    no_jvm              where no JVM may start
    ordinary_user       what an ordinary user can run here
    host_pace           bounds of time in units of this host
    left_behind         what a run left on this host
"""
