/** Maps and channels that the JVMs of a machine share, in memory that stays whole whichever of them dies. */
module farheap.pool {
    exports farheap.pool;
}
