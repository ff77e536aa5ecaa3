"""Records of trainings in event files, as MindInsight reads them: ``SummaryRecord``, ``SummaryCollector``."""
