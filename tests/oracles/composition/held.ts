/**
 * Rules without a peer about one tree: what is written is not dropped. A handler does not run without what its schemas
 * demand, no hook runs twice for one message, an answer is there, and a registered class gives its errors a code.
 */
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'
import { CLASSES, FAILURES, newSite } from './build.ts'
import { all } from './changes.ts'
import { programOf } from './program.ts'
import { alone, ask, type Outcome } from './services.ts'
import {
  ALL,
  type Input,
  KEYS,
  newInputs,
  newSteps,
  type Options,
  SCOPES,
  type Schemas,
  type Scope,
  type Steps,
  swarm
} from './tree.ts'

interface Tree {
  readonly steps: Steps
  readonly inputs: readonly Input[]
}

/** All that holds for one handler. */
interface Promised {
  /** The parts and keys that are demanded, such as `data a`. */
  readonly demands: ReadonlySet<string>
  /** The codes of classes that its own chain has registered before it. */
  readonly codes: readonly string[]
}

export const HELD: Oracle<Tree> = {
  name: 'held',
  imagine: (random: Random) => ({
    steps: newSteps(random, swarm(random, ALL), 2),
    inputs: newInputs(random)
  }),
  async judge({ steps, inputs }) {
    const promised = new Map<string, Promised>()
    collect(steps, 'part', { demands: new Set(), macros: new Map(), codes: [], guards: [] }, promised)
    // A macro that is a function makes new hooks for a guard and for a handler behind it.
    const isOnce = ![...all(steps)].some(
      (step) => (step.do === 'guard' || step.do === 'guarded') && step.options.macros.length > 0
    )
    return Object.entries(await ask(alone(steps), inputs)).flatMap(([id, outcomes]) =>
      outcomes.flatMap((outcome, index) =>
        broken(id, promised.get(id) as Promised, inputs[index] as Input, outcome, isOnce).map(
          (what) => `${what}: h${id}, input ${index}\n      ${JSON.stringify(outcome)}`
        )
      )
    )
  },
  program: ({ steps, inputs }) =>
    programOf([['tree', (dialect) => alone(steps)(newSite(dialect, 'part'))]]) +
    inputs.map((input) => `\n// ${JSON.stringify(input)}`).join('')
}

function broken(
  id: string,
  { demands, codes }: Promised,
  input: Input,
  { answer, ran }: Outcome,
  isOnce: boolean
): string[] {
  const wrong: string[] = []
  const { code, value } = answer as { readonly code?: string; readonly value?: unknown }
  const hasRun = ran.includes(`${id} handler`)
  const isMissing = (demand: string) => {
    const [part = '', key = ''] = demand.split(' ')
    return !Object.hasOwn(Object(input[part as 'data']), key)
  }
  if (hasRun && [...demands].some(isMissing)) wrong.push('a handler runs without what a schema demands')
  const isFull = KEYS.every((key) => input.data[key] !== undefined && input.headers[key] !== undefined)
  if (isFull && code === 'VALIDATION') wrong.push('a schema refuses what has all keys')
  const places = ran.map((line) => line.split(' {')[0])
  if (isOnce && new Set(places).size < places.length) wrong.push('a hook runs twice')
  if (code === undefined && value === undefined) wrong.push('an answer is lost')
  const Failure = FAILURES[input.fail ?? -1]
  // An error hook may answer in place of the error.
  const isHooked = ran.some((line) => line.includes(' error '))
  if (Failure === undefined || !hasRun || isHooked) return wrong
  const exact = codes.findLast((one) => CLASSES[one] === Failure)
  if (exact !== undefined && code !== exact) wrong.push('a registered class gives another code')
  const isKnown = codes.some((one) => Failure.prototype instanceof (CLASSES[one] as typeof Error))
  if (isKnown && code === 'INTERNAL') wrong.push('a registered class gives no code')
  return wrong
}

interface Before {
  readonly demands: Set<string>
  readonly macros: Map<string, Options>
  readonly codes: string[]
  /** The plain guards of the chain itself, behind `SOME_GUARDS` where another service may have added some. */
  readonly guards: Guard[]
}

interface Guard {
  readonly as: Scope
  readonly schemas: Schemas
}

/** Guards that nobody has looked at: any of them may be narrower than those that follow. */
const SOME_GUARDS: Guard = { as: 'local', schemas: {} }

/** Notes what holds for each handler, in the order in which a chain is built. */
function collect(steps: Steps, at: string, before: Before, promised: Map<string, Promised>): void {
  const { macros, codes } = before
  for (const [index, step] of steps.entries()) {
    const id = `${at}-${index}`
    const inner = (demands: Iterable<string> = []) => ({
      demands: new Set([...before.demands, ...demands]),
      macros: new Map(macros),
      codes: [...codes],
      guards: []
    })
    switch (step.do) {
      case 'message':
        promised.set(id, {
          demands: new Set([
            ...before.demands,
            ...demandsOf(step.options, macros),
            ...guardedBy(before.guards, step.options.schemas)
          ]),
          codes: [...codes]
        })
        break
      case 'guard': {
        // The schemas of a plain guard may be replaced, and those of its macros hold.
        const { options, isStandalone } = step
        const holds = isStandalone ? options : { ...options, schemas: {} }
        for (const demand of demandsOf(holds, macros)) before.demands.add(demand)
        if (!isStandalone) before.guards.push({ as: step.as, schemas: options.schemas })
        break
      }
      case 'macro':
        macros.set(step.name, {
          ...step.options,
          macros: step.options.macros.filter((name) => name > step.name && macros.has(name))
        })
        break
      case 'class':
        codes.push(step.code)
        break
      case 'plugin':
        collect(step.steps, id, before, promised)
        break
      case 'guarded':
        collect(step.steps, id, inner(demandsOf(step.options, macros)), promised)
        break
      case 'group':
        collect(step.steps, id, inner(), promised)
        break
      case 'use': {
        const used = { ...inner(), macros: new Map<string, Options>(), codes: [], guards: [] }
        collect(step.steps, id, used, promised)
        for (const [name, macro] of used.macros) macros.set(name, macro)
        before.guards.splice(0, Infinity, SOME_GUARDS)
        break
      }
      case 'as':
        before.guards.splice(0, Infinity, SOME_GUARDS)
    }
  }
}

/** The parts and keys that own schemas and those of macros demand. */
function demandsOf({ schemas, macros: used }: Options, macros: ReadonlyMap<string, Options>): string[] {
  const own = (['data', 'headers'] as const).flatMap((part) => {
    const key = schemas[part]
    return key === undefined ? [] : [`${part} ${key}`]
  })
  return [...own, ...used.flatMap((name) => demandsOf(macros.get(name) ?? NONE, macros))]
}

/** The demands of plain guards: the last one of the narrowest scope holds, if the handler has no schema of its own. */
function guardedBy(guards: readonly Guard[], own: Schemas): string[] {
  return (['data', 'headers'] as const).flatMap((part) => {
    if (own[part] !== undefined) return []
    const known = guards.filter((guard) => guard === SOME_GUARDS || guard.schemas[part] !== undefined)
    const narrowest = SCOPES.find((scope) => known.some(({ as }) => as === scope))
    const key = known.findLast(({ as }) => as === narrowest)?.schemas[part]
    return key === undefined ? [] : [`${part} ${key}`]
  })
}

const NONE: Options = { schemas: {}, hooks: [], macros: [], byName: false }
