//! Names of HotSpot's `-XX` options in JDK 17, which scripts pass unchanged. Those that have a meaning in
//! this VM are read by `parse`; the others are checked for their form and then have no effect.

/// The form of the option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `-XX:+Name`, `-XX:-Name`
    Switch,
    /// `-XX:Name=4m`
    Number,
    /// `-XX:Name=0.5`
    Fraction,
    /// `-XX:Name=text`
    Text,
}

/// Which unlocking switch the option needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Product,
    Diagnostic,
    Experimental,
}

/// Kind and level of a HotSpot option; `None` when there is none of the name.
pub fn find(name: &str) -> Option<(Kind, Level)> {
    let list = LISTS.iter().find(|list| list.names.split_ascii_whitespace().any(|n| n == name))?;
    Some((list.kind, list.level))
}

/// The names of all options of HotSpot, and their kinds.
pub fn all() -> impl Iterator<Item = (&'static str, Kind)> {
    LISTS.iter().flat_map(|list| list.names.split_ascii_whitespace().map(|name| (name, list.kind)))
}

struct List {
    kind: Kind,
    level: Level,
    /// Separated by white space.
    names: &'static str,
}

static LISTS: &[List] = &[
    List {
        kind: Kind::Switch,
        level: Level::Product,
        names: "AdjustStackSizeForTLS AggressiveHeap AlignVector AllowParallelDefineClass \
            AllowRedefinitionToAddDeleteMethods AllowUserSignalHandlers AllowVectorizeOnDemand \
            AlwaysActAsServerClassMachine AlwaysCompileLoopMethods AlwaysLockClassLoader \
            AlwaysPreTouch AlwaysRestoreFPU AlwaysTenure BackgroundCompilation \
            BlockLayoutByFrequency BlockLayoutRotateLoops C1OptimizeVirtualCallProfiling \
            C1ProfileBranches C1ProfileCalls C1ProfileCheckcasts C1ProfileInlinedCalls \
            C1ProfileVirtualCalls C1UpdateMethodData CICompilerCountPerCPU CITime CheckJNICalls \
            ClassUnloading ClassUnloadingWithConcurrentMark ClipInlining CompactStrings \
            CrashOnOutOfMemoryError CreateCoredumpOnCrash CriticalJNINatives DTraceAllocProbes \
            DTraceMethodProbes DTraceMonitorProbes DisableAttachMechanism DisableExplicitGC \
            DisplayVMOutputToStderr DisplayVMOutputToStdout DoEscapeAnalysis \
            DoReserveCopyInSuperWord DontCompileHugeMethods DontYieldALot DumpReplayDataOnError \
            DumpSharedSpaces DynamicDumpSharedSpaces EagerXrunInit EliminateAllocations \
            EliminateAutoBox EliminateLocks EliminateNestedLocks EnableContended \
            EnableDynamicAgentLoading ErrorFileToStderr ErrorFileToStdout EstimateArgEscape \
            ExecutingUnitTests ExitOnOutOfMemoryError ExplicitGCInvokesConcurrent \
            ExtendedDTraceProbes ExtensiveErrorReports FilterSpuriousWakeups FlightRecorder \
            ForceTimeHighResolution G1PeriodicGCInvokesConcurrent G1UseAdaptiveConcRefinement \
            G1UseAdaptiveIHOP HeapDumpAfterFullGC HeapDumpBeforeFullGC \
            HeapDumpOnOutOfMemoryError IgnoreEmptyClassPaths IgnoreUnrecognizedVMOptions \
            IncrementalInline Inline InlineSynchronizedMethods JavaMonitorsInStackTrace \
            LoadExecStackDllInVMThread LoopUnswitching ManagementServer MaxFDLimit \
            MethodFlushing NUMAStats NeverActAsServerClassMachine NeverTenure \
            OmitStackTraceInFastThrow OptimizeFill OptimizePtrCompare OptimizeStringConcat \
            OptoBundling OptoRegScheduling OptoScheduling PSChunkLargeArrays \
            ParallelRefProcBalancingEnabled ParallelRefProcEnabled PartialPeelAtUnsignedTests \
            PartialPeelLoop PerfAllowAtExitRegistration PerfBypassFileSystemCheck \
            PerfDataSaveToFile PerfDisableSharedMem PreferContainerQuotaForCPUCount \
            PreferInterpreterNativeStubs PreserveAllAnnotations PreserveFramePointer \
            PrintClassHistogram PrintCodeCache PrintCodeCacheOnCompilation PrintCommandLineFlags \
            PrintCompilation PrintConcurrentLocks PrintExtendedThreadInfo PrintFlagsFinal \
            PrintFlagsInitial PrintFlagsRanges PrintGC PrintGCDetails PrintHeapAtSIGBREAK \
            PrintSharedArchiveAndExit PrintSharedDictionary PrintStringTableStatistics \
            PrintTieredEvents PrintVMOptions PrintWarnings ProfileInterpreter \
            RangeCheckElimination ReassociateInvariants RecordDynamicDumpInfo ReduceBulkZeroing \
            ReduceFieldZeroing ReduceInitialCardMarks ReduceSignalUsage RegisterFinalizersAtInit \
            RelaxAccessControlCheck RequireSharedSpaces ResizePLAB ResizeTLAB \
            RestoreMXCSROnJNICalls RestrictContended RestrictReservedStack RewriteBytecodes \
            RewriteFrequentPairs SafepointTimeout ScavengeBeforeFullGC SegmentedCodeCache \
            ShowCodeDetailsInExceptionMessages ShowMessageBoxOnError ShrinkHeapInSteps \
            SplitIfBlocks StackTraceInThrowable StartAttachListener SuperWordLoopUnrollAnalysis \
            SuperWordReductions SuppressFatalErrorMessage TLABStats ThreadPriorityVerbose \
            TieredCompilation TimeLinearScan TrapBasedNullChecks TrapBasedRangeChecks UseAES \
            UseAdaptiveGenerationSizePolicyAtMajorCollection \
            UseAdaptiveGenerationSizePolicyAtMinorCollection UseAdaptiveNUMAChunkSizing \
            UseAdaptiveSizeDecayMajorGCCost UseAdaptiveSizePolicy \
            UseAdaptiveSizePolicyFootprintGoal UseAdaptiveSizePolicyWithSystemGC UseAddressNop \
            UseBASE64Intrinsics UseBMI1Instructions UseBMI2Instructions UseBiasedLocking \
            UseBimorphicInlining UseCLMUL UseCMoveUnconditionally UseCodeAging \
            UseCodeCacheFlushing UseCompiler UseCompressedClassPointers UseCompressedOops \
            UseCondCardMark UseContainerCpuShares UseContainerSupport \
            UseCountLeadingZerosInstruction UseCountTrailingZerosInstruction \
            UseCountedLoopSafepoints UseCounterDecay UseDivMod UseDynamicNumberOfCompilerThreads \
            UseDynamicNumberOfGCThreads UseEmptySlotsInSupers UseFMA UseFPUForSpilling \
            UseFastJNIAccessors UseFastStosb UseG1GC UseGCOverheadLimit UseHeavyMonitors \
            UseHugeTLBFS UseInlineCaches UseInterpreter UseJumpTables UseLargePages \
            UseLargePagesIndividualAllocation UseLinuxPosixThreadCPUClocks UseLoopCounter \
            UseLoopInvariantCodeMotion UseLoopPredicate UseMaximumCompactionOnSystemGC UseNUMA \
            UseNUMAInterleaving UseNewLongLShift UseNotificationThread UseOnStackReplacement \
            UseOnlyInlinedBimorphic UseOprofile UseOptoBiasInlining \
            UsePSAdaptiveSurvivorSizePolicy UseParallelGC UsePerfData UsePopCountInstruction \
            UseProfiledLoopPredicate UseRTMDeopt UseRTMLocking UseSHA UseSHM UseSSE42Intrinsics \
            UseSerialGC UseSharedSpaces UseShenandoahGC UseSignalChaining UseStoreImmI16 \
            UseStringDeduplication UseSubwordForMaxVector UseSuperWord UseTLAB \
            UseThreadPriorities UseTransparentHugePages UseTypeProfile UseTypeSpeculation \
            UseUnalignedLoadStores UseVectorCmov UseXMMForArrayCopy UseXMMForObjInit UseXmmI2D \
            UseXmmI2F UseXmmLoadAndClearUpper UseXmmRegToRegMoveAll UseZGC VerifySharedSpaces \
            ZProactive ZUncommit ZeroTLAB",
    },
    List {
        kind: Kind::Number,
        level: Level::Product,
        names: "ActiveProcessorCount AdaptiveSizeDecrementScaleFactor \
            AdaptiveSizeMajorGCDecayTimeScale AdaptiveSizePolicyCollectionCostMargin \
            AdaptiveSizePolicyInitializingSteps AdaptiveSizePolicyOutputInterval \
            AdaptiveSizePolicyWeight AdaptiveSizeThroughPutPolicy AdaptiveTimeWeight AliasLevel \
            AllocateInstancePrefetchLines AllocatePrefetchDistance AllocatePrefetchInstr \
            AllocatePrefetchLines AllocatePrefetchStepSize AllocatePrefetchStyle \
            ArrayCopyLoadStoreMaxElem AsyncLogBufferSize AutoBoxCacheMax BCEATraceLevel \
            BaseFootPrintEstimate BiasedLockingBulkRebiasThreshold \
            BiasedLockingBulkRevokeThreshold BiasedLockingDecayTime BiasedLockingStartupDelay \
            BlockLayoutMinDiamondPercentage C1InlineStackLimit C1MaxInlineLevel C1MaxInlineSize \
            C1MaxRecursiveInlineLevel C1MaxTrivialSize CICompilerCount CodeCacheExpansionSize \
            CompileThreshold CompilerThreadPriority CompilerThreadStackSize \
            CompressedClassSpaceSize ConcGCThreads ConditionalMoveLimit ContendedPaddingWidth \
            EliminateAllocationArraySizeLimit ErgoHeapSizeLimit ErrorLogTimeout FreqInlineSize \
            G1ConcRSHotCardLimit G1ConcRSLogCacheSize G1ConcRefinementGreenZone \
            G1ConcRefinementRedZone G1ConcRefinementServiceIntervalMillis \
            G1ConcRefinementThreads G1ConcRefinementThresholdStep G1ConcRefinementYellowZone \
            G1ConfidencePercent G1HeapRegionSize G1HeapWastePercent G1MixedGCCountTarget \
            G1PeriodicGCInterval G1RSetRegionEntries G1RSetSparseRegionEntries \
            G1RSetUpdatingPauseTimePercent G1RefProcDrainInterval G1ReservePercent \
            G1SATBBufferEnqueueingThresholdPercent G1SATBBufferSize G1UpdateBufferSize \
            GCDrainStackTargetSize GCHeapFreeLimit GCLockerEdenExpansionPercent \
            GCPauseIntervalMillis GCTimeLimit GCTimeRatio HeapBaseMinAddress HeapDumpGzipLevel \
            HeapFirstMaximumCompactionCount HeapMaximumCompactionInterval HeapSearchSteps \
            HeapSizePerGCThread IncreaseFirstTierCompileThresholdAt InitialCodeCacheSize \
            InitialHeapSize InitialRAMFraction InitialSurvivorRatio InitialTenuringThreshold \
            InitiatingHeapOccupancyPercent InlineSmallCode InteriorEntryAlignment \
            InterpreterProfilePercentage JavaPriority10_To_OSPriority \
            JavaPriority1_To_OSPriority JavaPriority2_To_OSPriority JavaPriority3_To_OSPriority \
            JavaPriority4_To_OSPriority JavaPriority5_To_OSPriority JavaPriority6_To_OSPriority \
            JavaPriority7_To_OSPriority JavaPriority8_To_OSPriority JavaPriority9_To_OSPriority \
            LargePageHeapSizeThreshold LargePageSizeInBytes LiveNodeCountInliningCutoff \
            LoopMaxUnroll LoopOptsCount LoopPercentProfileLimit LoopStripMiningIter \
            LoopStripMiningIterShortLoop LoopUnrollLimit LoopUnrollMin MarkStackSize \
            MarkStackSizeMax MarkSweepAlwaysCompactCount MarkSweepDeadRatio MaxBCEAEstimateLevel \
            MaxBCEAEstimateSize MaxDirectMemorySize MaxGCMinorPauseMillis MaxGCPauseMillis \
            MaxHeapFreeRatio MaxHeapSize MaxInlineLevel MaxInlineSize MaxJNILocalCapacity \
            MaxJavaStackTraceDepth MaxJumpTableSize MaxJumpTableSparseness MaxLabelRootDepth \
            MaxLoopPad MaxMetaspaceExpansion MaxMetaspaceFreeRatio MaxMetaspaceSize MaxNewSize \
            MaxNodeLimit MaxRAM MaxRAMFraction MaxRecursiveInlineLevel MaxTenuringThreshold \
            MaxTrivialSize MaxVectorSize MetaspaceSize MinHeapDeltaBytes MinHeapFreeRatio \
            MinHeapSize MinInliningThreshold MinJumpTableSize MinMetaspaceExpansion \
            MinMetaspaceFreeRatio MinRAMFraction MinSurvivorRatio MinTLABSize \
            MultiArrayExpandLimit NUMAChunkResizeWeight NUMAInterleaveGranularity \
            NUMAPageScanRate NUMASpaceResizeRate NewRatio NewSize NewSizeThreadIncrease \
            NmethodSweepActivity NodeLimitFudgeFactor NonNMethodCodeHeapSize \
            NonProfiledCodeHeapSize NumberOfLoopInstrToAlign ObjectAlignmentInBytes OldPLABSize \
            OldSize OnStackReplacePercentage OptoLoopAlignment PLABWeight ParGCArrayScanChunk \
            ParallelGCBufferWastePct ParallelGCThreads ParallelOldDeadWoodLimiterMean \
            ParallelOldDeadWoodLimiterStdDev PartialPeelNewPhiDelta PausePadding \
            PerBytecodeRecompilationCutoff PerBytecodeTrapLimit PerMethodRecompilationCutoff \
            PerMethodTrapLimit PerfDataMemorySize PerfDataSamplingInterval \
            PerfMaxStringConstLength PreTouchParallelChunkSize PrefetchCopyIntervalInBytes \
            PrefetchFieldsAhead PrefetchScanIntervalInBytes PretenureSizeThreshold \
            ProcessDistributionStride ProfileMaturityPercentage ProfiledCodeHeapSize \
            PromotedPadding QueuedAllocationWarningCount RTMRetryCount RefDiscoveryPolicy \
            ReservedCodeCacheSize SafepointTimeoutDelay SelfDestructTimer SharedBaseAddress \
            SharedSymbolTableBucketSize SoftMaxHeapSize SoftRefLRUPolicyMSPerMB StackRedPages \
            StackReservedPages StackShadowPages StackYellowPages StartAggressiveSweepingAt \
            StringDeduplicationAgeThreshold StringTableSize SurvivorPadding SurvivorRatio \
            TLABAllocationWeight TLABRefillWasteFraction TLABSize TLABWasteIncrement \
            TLABWasteTargetPercent TargetPLABWastePct TargetSurvivorRatio \
            TenuredGenerationSizeIncrement TenuredGenerationSizeSupplement \
            TenuredGenerationSizeSupplementDecay ThreadPriorityPolicy ThreadStackSize \
            ThresholdTolerance Tier0BackedgeNotifyFreqLog Tier0InvokeNotifyFreqLog \
            Tier0ProfilingStartPercentage Tier23InlineeNotifyFreqLog Tier2BackEdgeThreshold \
            Tier2BackedgeNotifyFreqLog Tier2CompileThreshold Tier2InvokeNotifyFreqLog \
            Tier3BackEdgeThreshold Tier3BackedgeNotifyFreqLog Tier3CompileThreshold \
            Tier3DelayOff Tier3DelayOn Tier3InvocationThreshold Tier3InvokeNotifyFreqLog \
            Tier3LoadFeedback Tier3MinInvocationThreshold Tier4BackEdgeThreshold \
            Tier4CompileThreshold Tier4InvocationThreshold Tier4LoadFeedback \
            Tier4MinInvocationThreshold TieredCompileTaskTimeout TieredRateUpdateMaxTime \
            TieredRateUpdateMinTime TieredStopAtLevel TrackedInitializationLimit \
            TrimNativeHeapInterval TypeProfileArgsLimit TypeProfileLevel \
            TypeProfileMajorReceiverPercent TypeProfileParmsLimit TypeProfileWidth \
            UnguardOnExecutionViolation UseAVX UseSSE VMThreadPriority VMThreadStackSize \
            ValueMapInitialSize ValueMapMaxLoopSize ValueSearchLimit \
            YoungGenerationSizeIncrement YoungGenerationSizeSupplement \
            YoungGenerationSizeSupplementDecay YoungPLABSize ZMarkStackSpaceLimit ZUncommitDelay",
    },
    List {
        kind: Kind::Fraction,
        level: Level::Product,
        names: "CompileThresholdScaling EscapeAnalysisTimeout G1ConcMarkStepDurationMillis \
            G1PeriodicGCSystemLoadThreshold InitialRAMPercentage MaxRAMPercentage \
            MinRAMPercentage SweeperThreshold ZAllocationSpikeTolerance ZCollectionInterval \
            ZFragmentationLimit",
    },
    List {
        kind: Kind::Text,
        level: Level::Product,
        names: "AllocateHeapAt ArchiveClassesAtExit CompilationMode CompileCommand \
            CompileCommandFile CompileOnly DumpLoadedClassList ErrorFile \
            ExtraSharedClassListFile FlightRecorderOptions HeapDumpPath InlineDataFile \
            MetaspaceReclaimPolicy NativeMemoryTracking OnError OnOutOfMemoryError \
            PerfDataSaveFile ReplayDataFile SharedArchiveConfigFile SharedArchiveFile \
            SharedClassListFile ShenandoahGCHeuristics ShenandoahGCMode StartFlightRecording \
            TraceJVMTI",
    },
    List {
        kind: Kind::Switch,
        level: Level::Diagnostic,
        names: "AbortVMOnCompilationFailure AbortVMOnSafepointTimeout AbortVMOnVMOperationTimeout \
            AggressiveUnboxing AllowArchivingWithJavaAgent BytecodeVerificationLocal \
            BytecodeVerificationRemote CIPrintCompileQueue CheckIntrinsics \
            CompilerDirectivesIgnoreCompileCommands CompilerDirectivesPrint DebugInlinedCalls \
            DebugNonSafepoints DeferInitialCardMark DeoptimizeNMethodBarriersALot \
            DisplayVMOutput DumpPerfMapAtExit DumpPrivateMappingsInCore DumpSharedMappingsInCore \
            DynamicallyResizeSystemDictionaries EnableThreadSMRStatistics \
            ExpandSubTypeCheckAtParseTime FoldStableValues ForceUnreachable G1UsePreventiveGC \
            G1VerifyHeapRegionCodeRoots G1VerifyRSetsDuringFullGC GCParallelVerificationEnabled \
            HandshakeALot IdealizeClearArrayNode ImplicitNullChecks \
            IncrementalInlineForceCleanup IncrementalInlineMH IncrementalInlineVirtual \
            InjectGCWorkerCreationFailure InlineArrayCopy InlineClassNatives InlineMathNatives \
            InlineNIOCheckIndex InlineNatives InlineObjectCopy InlineObjectHash \
            InlineReflectionGetCallerClass InlineThreadNatives InlineUnsafeOps \
            IntelJccErratumMitigation LogCompilation LogEvents LogTouchedMethods LogVMOutput \
            MetaspaceGuardAllocations MetaspaceHandleDeallocations OptimizeExpensiveOps \
            PauseAtExit PauseAtStartup PrintAdapterHandlers PrintAssembly \
            PrintBiasedLockingStatistics PrintCodeHeapAnalytics PrintCompilation2 PrintInlining \
            PrintInterpreter PrintIntrinsics PrintMetaspaceStatisticsAtExit PrintMethodData \
            PrintMethodFlushingStatistics PrintMethodHandleStubs PrintNMTStatistics \
            PrintNMethods PrintNativeNMethods PrintOptoAssembly \
            PrintPreciseBiasedLockingStatistics PrintPreciseRTMLockingStatistics \
            PrintSignatureHandlers PrintStubCode PrintTouchedMethodsAtExit ProfileDynamicTypes \
            ReduceNumberOfCompilerThreads SafepointALot SerializeVMOutput \
            ShenandoahAllocFailureALot ShenandoahCASBarrier ShenandoahCloneBarrier \
            ShenandoahDegeneratedGC ShenandoahElasticTLAB ShenandoahHumongousMoves \
            ShenandoahIUBarrier ShenandoahLoadRefBarrier ShenandoahLoopOptsAfterExpansion \
            ShenandoahNMethodBarrier ShenandoahOOMDuringEvacALot ShenandoahSATBBarrier \
            ShenandoahSelfFixing ShenandoahStackWatermarkBarrier ShenandoahVerify \
            ShowHiddenFrames ShowRegistersOnAssert SpecialArraysEquals SpecialEncodeISOArray \
            SpecialStringCompareTo SpecialStringEquals SpecialStringIndexOf StressCCP \
            StressCodeAging StressGCM StressIGVN StressLCM StressLdcRewrite \
            StringDeduplicationResizeALot THPStackMitigation TraceCompilerThreads TraceSpilling \
            TraceTypeProfile UnlockDiagnosticVMOptions UseAESCTRIntrinsics UseAESIntrinsics \
            UseAdler32Intrinsics UseCRC32CIntrinsics UseCRC32Intrinsics \
            UseCharacterCompareIntrinsics UseCopySignIntrinsic UseCpuAllocPath \
            UseGHASHIntrinsics UseIncDec UseInlineDepthForSpeculativeTypes UseKNLSetting \
            UseLibmIntrinsic UseMD5Intrinsics UseMathExactIntrinsics \
            UseMontgomeryMultiplyIntrinsic UseMontgomerySquareIntrinsic UseMulAddIntrinsic \
            UseMultiplyToLenIntrinsic UseNewCode UseNewCode2 UseNewCode3 UseSHA1Intrinsics \
            UseSHA256Intrinsics UseSHA3Intrinsics UseSHA512Intrinsics UseSignumIntrinsic \
            UseSquareToLenIntrinsic UseSwitchProfiling UseUnalignedAccesses UseVectorMacroLogic \
            UseVectorizedMismatchIntrinsic UseVtableBasedCHA VerifyAdapterCalls VerifyAfterGC \
            VerifyBeforeExit VerifyBeforeGC VerifyBeforeIteration VerifyDuringGC \
            VerifyDuringStartup VerifyMethodHandles VerifyObjectStartArray VerifyReceiverTypes \
            VerifyRememberedSets VerifyStringTableAtExit WhiteBoxAPI ZStressRelocateInPlace \
            ZVerifyForwarding ZVerifyMarking ZVerifyObjects ZVerifyRoots ZVerifyViews",
    },
    List {
        kind: Kind::Number,
        level: Level::Diagnostic,
        names: "AVX3Threshold AbortVMOnVMOperationTimeoutDelay ArchiveRelocationMode \
            ArrayOperationPartialInlineSize AsyncDeflationInterval AvgMonitorsPerThreadEstimate \
            CodeCacheMinBlockLength CompilerDirectivesLimit DiagnoseSyncOnValueBasedClasses \
            DominatorSearchLimit EliminateAllocationFieldsLimit ErrorLogPrintCodeLimit \
            G1SummarizeRSetStatsPeriod GCLockerRetryAllocationCount \
            GuaranteedAsyncDeflationInterval GuaranteedSafepointInterval HandshakeTimeout \
            HotMethodDetectionLimit InitArrayShortSize InlineFrequencyCount \
            LogEventsBufferEntries MallocMaxTestWords MinPassesBeforeFlush MonitorDeflationMax \
            MonitorUnlinkBatch MonitorUsedDeflationThreshold NoAsyncDeflationProgressMax \
            RepeatCompilation ScavengeRootsInCode ShenandoahVerifyLevel StressSeed \
            StringDeduplicationHashSeed Tier0Delay TieredOldPercentage UseBootstrapCallInfo \
            VerifyArchivedFields VerifyGCLevel VerifyGCStartAt ZStatisticsInterval",
    },
    List {
        kind: Kind::Text,
        level: Level::Diagnostic,
        names: "AbortVMOnException AbortVMOnExceptionMessage CompilerDirectivesFile ControlIntrinsic \
            DisableIntrinsic LogFile PauseAtStartupFile PrintAssemblyOptions VerifyGCType \
            VerifySubSet",
    },
    List {
        kind: Kind::Switch,
        level: Level::Experimental,
        names: "AlwaysAtomicAccesses AlwaysSafeConstructors BootstrapJVMCI \
            DisablePrimordialThreadGuardPages EagerJVMCI EnableJVMCI EnableJVMCIProduct \
            EnableVectorAggressiveReboxing EnableVectorReboxing EnableVectorSupport \
            EpsilonElasticTLAB EpsilonElasticTLABDecay G1EagerReclaimHumongousObjects \
            G1EagerReclaimHumongousObjectsWithStaleRefs G1UseReferencePrecleaning \
            JVMCICountersExcludeCompiler JVMCIPrintProperties PostLoopMultiversioning \
            PrintBootstrap ShenandoahAlwaysClearSoftRefs ShenandoahEvacReserveOverflow \
            ShenandoahImplicitGCInvokesConcurrent ShenandoahPacing ShenandoahRegionSampling \
            ShenandoahSuspendibleWorkers ShenandoahUncommit TrustFinalNonStaticFields \
            UnlockExperimentalVMOptions UseCriticalCompilerThreadPriority \
            UseCriticalJavaThreadPriority UseEpsilonGC UseFastUnorderedTimeStamps \
            UseJVMCICompiler UseJVMCINativeLibrary UseRTMForStackLocks UseRTMXendForLockBusy \
            UseVectorStubs",
    },
    List {
        kind: Kind::Number,
        level: Level::Experimental,
        names: "ArrayAllocatorMallocLimit CodeCacheSegmentSize EpsilonMaxTLABSize \
            EpsilonMinHeapExpand EpsilonPrintHeapSteps EpsilonTLABDecayTime \
            EpsilonUpdateCountersStep G1AdaptiveIHOPNumInitialSamples \
            G1EagerReclaimRemSetThreshold G1ExpandByPercentOfAvailable G1MaxNewSizePercent \
            G1MixedGCLiveThresholdPercent G1NewSizePercent G1OldCSetRegionThresholdPercent \
            G1RebuildRemSetChunkSize InlineCacheBufferSize JVMCICounterSize JVMCIEventLogLevel \
            JVMCIHostThreads JVMCINMethodSizeLimit JVMCIThreads JVMCITraceLevel \
            PerMethodSpecTrapLimit RTMAbortRatio RTMAbortThreshold RTMLockingCalculationDelay \
            RTMLockingThreshold RTMSpinLoopCount RTMTotalCountIncrRate ReferencesPerThread \
            ShenandoahAdaptiveSampleFrequencyHz ShenandoahAdaptiveSampleSizeSeconds \
            ShenandoahAllocSpikeFactor ShenandoahAllocationThreshold \
            ShenandoahControlIntervalAdjustPeriod ShenandoahControlIntervalMax \
            ShenandoahControlIntervalMin ShenandoahCriticalFreeThreshold ShenandoahEvacReserve \
            ShenandoahFullGCThreshold ShenandoahGarbageThreshold ShenandoahGuaranteedGCInterval \
            ShenandoahHumongousThreshold ShenandoahImmediateThreshold \
            ShenandoahInitFreeThreshold ShenandoahLearningSteps ShenandoahMarkLoopStride \
            ShenandoahMarkScanPrefetch ShenandoahMaxRegionSize ShenandoahMaxSATBBufferFlushes \
            ShenandoahMinFreeThreshold ShenandoahMinRegionSize ShenandoahPacingCycleSlack \
            ShenandoahPacingIdleSlack ShenandoahPacingMaxDelay ShenandoahParallelRegionStride \
            ShenandoahRegionSamplingRate ShenandoahRegionSize ShenandoahSATBBufferSize \
            ShenandoahTargetNumRegions ShenandoahUncommitDelay ShenandoahUnloadClassesFrequency \
            SpecTrapLimitExtraEntries StringDeduplicationCleanupDeadMinimum \
            StringDeduplicationCleanupDeadPercent StringDeduplicationInitialTableSize \
            SymbolTableSize TimerSlack WorkStealingHardSpins WorkStealingSleepMillis \
            WorkStealingSpinToYieldRatio WorkStealingYieldsBeforeSleep hashCode",
    },
    List {
        kind: Kind::Fraction,
        level: Level::Experimental,
        names: "EpsilonTLABElasticity G1LastPLABAverageOccupancy ObjectCountCutOffPercent \
            ShenandoahAdaptiveDecayFactor ShenandoahAdaptiveInitialConfidence \
            ShenandoahAdaptiveInitialSpikeThreshold ShenandoahEvacWaste \
            ShenandoahPacingSurcharge StringDeduplicationGrowTableLoad \
            StringDeduplicationShrinkTableLoad StringDeduplicationTargetTableLoad",
    },
    List {
        kind: Kind::Text,
        level: Level::Experimental,
        names: "JVMCILibDumpJNIConfig JVMCILibPath",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_kinds_and_levels() {
        assert_eq!(find("UseParallelGC"), Some((Kind::Switch, Level::Product)));
        assert_eq!(find("MaxMetaspaceSize"), Some((Kind::Number, Level::Product)));
        assert_eq!(find("VerifyBeforeGC"), Some((Kind::Switch, Level::Diagnostic)));
        assert_eq!(find("NoSuchFlag"), None);
        assert_eq!(find(""), None);
    }
}
