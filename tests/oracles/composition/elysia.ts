/**
 * Elysia as the oracle: the same tree as a service of ours and as routes of Elysia alone, in both of its modes. Compared
 * are the hooks that ran, their order, what they saw, and the answer.
 */
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'
import { different } from './alone.ts'
import { askElysia } from './apps.ts'
import { newSite } from './build.ts'
import { programOf } from './program.ts'
import { alone, ask, type Outcome, type Outcomes } from './services.ts'
import { ALL, type Input, newInputs, newSteps, type Steps, swarm } from './tree.ts'

interface Compared {
  readonly steps: Steps
  readonly inputs: readonly Input[]
}

export const ELYSIA: Oracle<Compared> = {
  name: 'elysia',
  imagine(random: Random) {
    const kinds = new Set([...ALL.kinds].filter((kind) => kind !== 'class' && kind !== 'state' && kind !== 'decorate'))
    return { steps: newSteps(random, swarm(random, { ...ALL, kinds }), 2), inputs: newInputs(random) }
  },
  async judge({ steps, inputs }) {
    const ours = comparable(await ask(alone(steps), inputs))
    const compiled = comparable(await askElysia(steps, inputs, true))
    const dynamic = comparable(await askElysia(steps, inputs, false))
    if (JSON.stringify(compiled) !== JSON.stringify(dynamic)) return []
    return different('elysia', compiled, 'here', ours)
  },
  program: ({ steps, inputs }) =>
    programOf([['alone', (dialect) => alone(steps)(newSite(dialect, 'part'))]]) +
    inputs.map((input) => `\n// ${JSON.stringify(input)}`).join('')
}

/** Outcomes without what belongs to one side only. */
function comparable(outcomes: Outcomes): Outcomes {
  return Object.fromEntries(
    Object.entries(outcomes).map(([id, all]) => [
      id,
      all.map(({ answer, ran }): Outcome => {
        const { code, value } = answer as { code?: string; value?: unknown }
        const failed = code === undefined || code === 'VALIDATION' ? code : 'FAILED'
        return { answer: { value, code: failed }, ran: ran.filter((line) => !line.endsWith(' wrap')) }
      })
    ])
  )
}
