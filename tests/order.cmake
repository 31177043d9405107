# Read by CTest behind the tests of the programs of GoogleTest: those that take longest start first, so that none of them
# runs on alone at the end. The numbers are seconds on two cores; they need not be exact.
set_tests_properties(
  Faults.EveryOneThatEndsChangesOutputsInFloat32 Faults.EveryOneThatEndsChangesOutputsInBfloat16
  SampledRun.NeverPassesWhatTheWholeBenchmarkAccuses PROPERTIES COST 25)
set_tests_properties(
  Explain.FaultsOfTheDeviceAreNamed OpGenerateScript.OfEveryApiAgreeWithTheNativeTables OpGenerateScript.TakesEveryKindOfArgument
  PROPERTIES COST 20)
set_tests_properties(Unread.SignalsAreHeeded Unread.TimeLimitsHold PROPERTIES COST 16)
set_tests_properties(
  Chaos.EndsWithTheFilesOfAnUndisturbedRunOnAllDevices MindSporeBackend.AHangIsEndedWithItsWorker
  OnATerminal.AFileHasNoColoursUnlessAsked OpGenerateScript.JudgesTheBenchmarkStandardByAGpusNumbers TorchSamples.AreNotAccused
  PROPERTIES COST 12)
