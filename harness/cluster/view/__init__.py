"""What a cluster says of itself: leader, ISR, controller, coordinators, log ends."""
