/** A rule without a peer: a handler that gives its answer as a stream of one value answers as one that returns it. */
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'
import { different } from './alone.ts'
import { newSite } from './build.ts'
import { byStream } from './callers.ts'
import { programOf } from './program.ts'
import { alone, ask, OURS } from './services.ts'
import { ALL, type Input, newInputs, newSteps, type Steps, swarm, type Wishes } from './tree.ts'

interface Streamed {
  readonly steps: Steps
  readonly inputs: readonly Input[]
}

/** `afterHandle` gets a stream as a whole. The answers of error hooks do not always fit the schema of the response. */
const WISHES: Wishes = {
  ...ALL,
  hooks: ALL.hooks.filter((type) => type !== 'afterHandle'),
  inOptions: ALL.inOptions.filter((type) => type !== 'afterHandle'),
  acts: ['answer', 'lack', 'throw', 'return']
}

export const STREAMED: Oracle<Streamed> = {
  name: 'streamed',
  imagine: (random: Random) => ({
    steps: newSteps(random, swarm(random, WISHES), 2),
    inputs: newInputs(random)
  }),
  async judge({ steps, inputs }) {
    const outcomesOf = (isStreamed: boolean) =>
      ask(
        (site) => {
          site.world.isStreamed = isStreamed
          return alone(steps)(site)
        },
        inputs,
        'memory',
        OURS,
        byStream
      )
    return different('returned', await outcomesOf(false), 'as a stream', await outcomesOf(true))
  },
  program: ({ steps, inputs }) =>
    programOf([['tree', (dialect) => alone(steps)(newSite(dialect, 'part'))]]) +
    inputs.map((input) => `\n// ${JSON.stringify(input)}`).join('')
}
