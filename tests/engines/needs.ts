/** Cases over each engine that this process tests. */
import { type CaseOf, casesOver, type Need } from '@elysia-microservices/engine-tests'
import { type EngineUnderTest, TRIED_ENGINES } from './engines.ts'

/**
 * Declares cases over every engine that this process tests and this machine can run.
 * @param needs what all of the cases need
 * @param engines the engines. Default: all that this process tests
 */
export function overEngines(
  what: string,
  needs: readonly Need[],
  declare: (engine: EngineUnderTest, caseOf: CaseOf) => void,
  engines: readonly EngineUnderTest[] = TRIED_ENGINES
): void {
  for (const engine of engines) casesOver(engine, what, needs, declare)
}
