/** The roles of targets in a contest: a name may mean one target in a suite and another in the rest of the bench. */
import { isLimit, isOurs, LABEL } from '../peers/targets.ts'
import { type SuiteTarget, suiteTarget } from '../suites/catalog.ts'
import { type Task, taskOf } from '../task/task.ts'

interface Asked {
  readonly task?: Task | undefined
}

/** `hono @ node` → `hono` */
const plain = (name: string): string => name.split(LABEL)[0]!

function inSuite(asked: Asked, name: string): SuiteTarget | undefined | 'none' {
  const task = taskOf(asked)
  return task.mode === 'suite' ? suiteTarget(task.suite, plain(name)) : 'none'
}

/** This project's. */
export function isOursIn(asked: Asked, name: string): boolean {
  const target = inSuite(asked, name)
  return target === 'none' ? isOurs(name) : target?.isOurs === true
}

/** No peer, but the limit of all. */
export function isLimitIn(asked: Asked, name: string): boolean {
  const target = inSuite(asked, name)
  return target === 'none' ? isLimit(name) : target?.isLimit === true
}

/** Does another job than the others. */
export function isElseIn(asked: Asked, name: string): boolean {
  const target = inSuite(asked, name)
  return target !== 'none' && target?.isElse === true
}

/** Everybody is compared with Nest, which is the point of all this; where it is absent, with the first. */
export function baseOf(targets: readonly string[]): string {
  return targets.includes('nest') ? 'nest' : targets[0]!
}

/** The target whose figures a target's own are divided by; `undefined`: none. */
export function baseFor(asked: Asked, name: string, names: readonly string[]): string | undefined {
  const target = inSuite(asked, name)
  const base = target === 'none' ? baseOf(names) : target?.against
  if (base === undefined) return undefined
  // Under the same runtime, where there are two.
  const [, label] = name.split(LABEL)
  const same = target !== 'none' && label !== undefined ? `${base}${LABEL}${label}` : base
  return same !== name && names.includes(same) ? same : undefined
}
