/** The roles of targets in a contest: a name may stand for one target in a suite, and for another elsewhere. */
import { isLimit, isOurs, LABEL } from '../peers/targets.ts'
import { type SuiteTarget, suiteTarget } from '../suites/catalog.ts'
import { type Task, taskOf } from '../task/task.ts'

interface Asked {
  readonly task?: Task | undefined
}

/** Removes the label: `hono @ node` → `hono` */
const plain = (name: string): string => name.split(LABEL)[0]!

function inSuite(asked: Asked, name: string): SuiteTarget | undefined | 'none' {
  const task = taskOf(asked)
  return task.mode === 'suite' ? suiteTarget(task.suite, plain(name)) : 'none'
}

/** Whether a target belongs to this project. */
export function isOursIn(asked: Asked, name: string): boolean {
  const target = inSuite(asked, name)
  return target === 'none' ? isOurs(name) : target?.isOurs === true
}

/** Whether a target is the limit of all, and not a peer. */
export function isLimitIn(asked: Asked, name: string): boolean {
  const target = inSuite(asked, name)
  return target === 'none' ? isLimit(name) : target?.isLimit === true
}

/** Whether a target does another task than the others. */
export function isElseIn(asked: Asked, name: string): boolean {
  const target = inSuite(asked, name)
  return target !== 'none' && target?.isElse === true
}

/** The target with which all others are compared: NestJS, or the first if NestJS is absent. */
export function baseOf(targets: readonly string[]): string {
  return targets.includes('nest') ? 'nest' : targets[0]!
}

/** The target by whose figures the figures of the target `name` are divided; `undefined`: there is none. */
export function baseFor(asked: Asked, name: string, names: readonly string[]): string | undefined {
  const target = inSuite(asked, name)
  const base = target === 'none' ? baseOf(names) : target?.against
  if (base === undefined) return undefined
  // The target with the same runtime, if the targets run on two.
  const [, label] = name.split(LABEL)
  const same = target !== 'none' && label !== undefined ? `${base}${LABEL}${label}` : base
  return same !== name && names.includes(same) ? same : undefined
}
