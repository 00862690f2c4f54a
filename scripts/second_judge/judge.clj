(ns second-judge
  "What Jepsen's Kafka checker finds in a history that `kafka-harness export --format jepsen` wrote.

      lein run -m clojure.main judge.clj HISTORY FINDINGS        in the project jepsen/jepsen

  FINDINGS gets one JSON object a line: each value (or place) of the kinds that are compared, the
  number of each other kind, and last how many operations were read."
  (:require [clojure.edn :as edn]
            [clojure.java.io :as io]
            [jepsen.history :as history]
            [jepsen.tests.kafka :as kafka]))

(def by-value [:lost-write :duplicate :G1a])

(defn operations [file]
  (with-open [reader (io/reader file)]
    (mapv (fn [line] (history/op (edn/read-string line))) (line-seq reader))))

(defn found [kind key what number]
  (format "{\"kind\": \"%s\", \"key\": %d, \"%s\": %d}" (name kind) key what number))

(defn findings [errors]
  (concat
    (for [kind by-value, each (get errors kind)]
      (found kind (:key each) "value" (:value each)))
    (for [each (:inconsistent-offsets errors)]
      (found :inconsistent-offsets (:key each) "offset" (:offset each)))
    (for [[key values] (:messages (:unseen errors)), value values]
      (found :unseen key "value" value))
    (for [[kind each] (apply dissoc errors :unseen :inconsistent-offsets by-value)]
      (format "{\"kind\": \"%s\", \"count\": %d}" (name kind) (if (coll? each) (count each) 1)))))

(let [[from to] *command-line-args*
      ops (operations from)
      known {:have-indices? true, :already-ops? true, :dense-indices? true}
      errors (:errors (kafka/analysis (history/history ops known)))]
  (with-open [writer (io/writer to)]
    (binding [*out* writer]
      (doseq [line (findings errors)]
        (println line))
      (println (format "{\"operations\": %d}" (count ops)))))
  (shutdown-agents)
  (System/exit 0))
