/**
 * A rule without a peer: a service answers the same alone and beside others, at any depth of `use`, in any group, behind a
 * guard that demands nothing, and used several times; and the same over every transport.
 */
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'
import { build, type Chain, newSite, newWorld, type Site, sorted } from './build.ts'
import { programOf } from './program.ts'
import { alone, ask, type Outcomes } from './services.ts'
import { ALL, type Input, newInputs, newSteps, type Steps, swarm } from './tree.ts'
import { WAYS, type Way } from './ways.ts'

const AROUND = ['nothing', 'group', 'guard', 'plugin', 'twice'] as const

/** One service around another. Nothing before the other reaches it, so it must answer as it does alone. */
interface Layer {
  readonly before: Steps
  readonly around: (typeof AROUND)[number]
  readonly after: Steps
}

interface Beside {
  readonly steps: Steps
  readonly layers: readonly Layer[]
  readonly inputs: readonly Input[]
}

export const BESIDE: Oracle<Beside> = {
  name: 'beside',
  imagine(random: Random) {
    const wishes = swarm(random, ALL)
    const layers = Array.from({ length: random.between(1, 3) }, () => ({
      before: newSteps(random, { ...wishes, reach: 'none' }, 2),
      around: random.of(AROUND),
      after: newSteps(random, wishes, 1)
    }))
    return { steps: newSteps(random, wishes, 2), layers, inputs: newInputs(random) }
  },
  async judge({ steps, layers, inputs }) {
    const expected = await ask(alone(steps), inputs)
    const got = await ask((site) => composed(steps, layers, site), inputs).catch((error) => error)
    if (got instanceof Error) return [`Composed, the service is refused: ${got.message}`]
    return different('alone', expected, 'beside others', got)
  },
  program: ({ steps, layers, inputs }) =>
    programOf([
      ['alone', (dialect) => alone(steps)(newSite(dialect, 'part'))],
      ['composed', (dialect) => composed(steps, layers, newSite(dialect, 'part'))]
    ]) + inputs.map((input) => `\n// ${JSON.stringify(input)}`).join('')
}

interface Carried {
  readonly steps: Steps
  readonly inputs: readonly Input[]
  readonly way: Way
}

export const CARRIED: Oracle<Carried> = {
  name: 'carried',
  imagine(random: Random) {
    const steps = newSteps(random, swarm(random, ALL), 2)
    // Engines in the process cost more than TCP.
    return { steps, inputs: newInputs(random), way: random.of([...WAYS.slice(1), 'rsocket', 'nest']) }
  },
  async judge({ steps, inputs, way }) {
    return different('in memory', await ask(alone(steps), inputs), way, await ask(alone(steps), inputs, way))
  },
  program: ({ steps, inputs, way }) =>
    programOf([[way, (dialect) => alone(steps)(newSite(dialect, 'part'))]]) +
    inputs.map((input) => `\n// ${JSON.stringify(input)}`).join('')
}

/** Puts a service into services. @param site the place of the service, in the world of the whole composition */
function composed(steps: Steps, [layer, ...layers]: readonly Layer[], site: Site): Chain {
  const { world, dialect, prefix } = site
  if (layer === undefined) return build(dialect.newChain(), steps, site)
  // The handlers of other services are not asked, but their hooks write into the same log.
  const others = { ...newWorld(), log: world.log }
  const outer = newSite(dialect, `outer${layers.length}`, others, prefix)
  const inner = (within = prefix) => {
    const place = newSite(dialect, site.id, world, within)
    const chain = composed(steps, layers, place)
    for (const name of place.names) outer.names.add(name)
    return chain
  }
  const chain = build(dialect.newChain(), layer.before, { ...outer, id: `${outer.id}-before` })
  const around = (): Chain => {
    switch (layer.around) {
      case 'nothing':
        return chain.use(inner())
      case 'group':
        return chain.group(dialect.prefix('in'), (group) => group.use(inner([...prefix, 'in'])))
      case 'guard':
        return chain.guard({}, (group) => group.use(inner()))
      case 'plugin':
        return chain.use((given: Chain) => given.use(inner()))
      case 'twice': {
        const shared = inner()
        return chain.use(dialect.newChain().use(shared)).use(dialect.newChain().use(shared)).use(shared)
      }
    }
  }
  const made = build(around(), layer.after, { ...outer, id: `${outer.id}-after` })
  for (const name of outer.names) site.names.add(name)
  return made
}

/** The first differences between outcomes. */
export function different(one: string, expected: Outcomes, other: string, got: Outcomes): string[] {
  return Object.entries(expected).flatMap(([id, answers]) =>
    answers.flatMap((answer, index) => {
      const found = got[id]?.[index]
      const [here, there] = [sorted(answer), sorted(found)]
      if (here === there) return []
      const what = sorted(answer.answer) === sorted(found?.answer) ? 'runs' : 'answers'
      return [
        `${what} otherwise ${other}: h${id}, input ${index}\n      ${one} ${here}\n      ${other} ${there}`
      ]
    })
  )
}
