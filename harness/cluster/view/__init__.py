"""The view: leaders, ISRs, controller, coordinators and log ends as the cluster knows them."""
