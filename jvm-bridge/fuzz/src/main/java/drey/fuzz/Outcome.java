package drey.fuzz;

import drey.fuzz.Run.Emitted;

import java.util.List;
import java.util.Map;

/**
 * What came of running a case.
 *
 * @param emitted by query
 * @param rejected units that could not be planned: with what error
 * @param plans the stateful nodes of each unit
 * @param failure the error that ended the job, or null
 */
record Outcome(
        Map<String, List<Emitted>> emitted,
        Map<String, String> rejected,
        Map<String, List<PlanLog.Node>> plans,
        String failure) {}
