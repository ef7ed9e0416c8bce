/**
 * Elysia as the oracle: the same tree as one of our services and as routes of Elysia alone, in both of its modes. Compared
 * are the hooks that ran, their order, what they saw, and the answer.
 */
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'
import { different } from './alone.ts'
import { askElysia, COMPILED, DYNAMIC } from './apps.ts'
import { type Dialect, newSite } from './build.ts'
import { DIFFERENCES, type Difference, type Mode } from './differences.ts'
import { programOf } from './program.ts'
import { demandsOpenly } from './schemas.ts'
import { alone, ask, OURS, type Outcome, type Outcomes } from './services.ts'
import { ALL, type Input, newInputs, newSteps, type Steps, swarm } from './tree.ts'

interface Compared {
  readonly steps: Steps
  readonly inputs: readonly Input[]
  readonly mode: Mode
}

export const ELYSIA: Oracle<Compared> = {
  name: 'elysia',
  imagine(random: Random) {
    const kinds = new Set(
      [...ALL.kinds].filter((kind) => kind !== 'class' && kind !== 'state' && kind !== 'decorate')
    )
    return {
      steps: newSteps(random, swarm(random, { ...ALL, kinds }), 2),
      inputs: newInputs(random),
      mode: random.chance(0.75) ? 'compiled' : 'dynamic'
    }
  },
  judge: ({ steps, inputs, mode }) => differ(mode, avoided(mode, steps), inputs),
  verdict: (cases) =>
    // The rarest of them is in one of forty trees.
    DIFFERENCES.filter((difference) => cases >= 400 && !applied.has(difference)).map(
      ({ name }) => `no tree had '${name}': the difference is not needed`
    ),
  program: ({ steps, inputs }) =>
    programOf([['alone', (dialect) => alone(steps)(newSite(dialect, 'part'))]]) +
    inputs.map((input) => `\n// ${JSON.stringify(input)}`).join('')
}

const OPEN: Dialect = { ...OURS, schema: demandsOpenly }

/** The differences that were in a tree. */
const applied = new Set<Difference>()

/** The tree without the shapes that are known to differ. */
export function avoided(mode: Mode, given: Steps, known = DIFFERENCES): Steps {
  return known.filter(isOf(mode)).reduce((before, difference) => {
    const after = difference.avoid?.(before) ?? before
    if (after !== before) applied.add(difference)
    return after
  }, given)
}

const isOf = (mode: Mode) => (difference: Difference) =>
  difference.mode === undefined || difference.mode === mode

/** In what a tree differs from the same tree in Elysia. */
export async function differ(
  mode: Mode,
  steps: Steps,
  inputs: readonly Input[],
  known = DIFFERENCES
): Promise<readonly string[]> {
  const ignoring = known.filter(isOf(mode))
  const isCompiled = mode === 'compiled'
  const theirs = comparable(await askElysia(steps, inputs, isCompiled ? COMPILED : DYNAMIC), ignoring)
  // In the dynamic mode schemas leave or refuse unknown properties, so there they let them pass.
  const ours = comparable(await ask(alone(steps), inputs, 'memory', isCompiled ? OURS : OPEN), ignoring)
  return different('in Elysia', theirs, 'here', ours).map((line) => `${mode}, ${line}`)
}

/** Outcomes without what belongs to one side only. */
function comparable(outcomes: Outcomes, known: readonly Difference[]): Outcomes {
  return Object.fromEntries(
    Object.entries(outcomes).map(([id, all]) => [
      id,
      all.map(({ answer, ran }): Outcome => {
        const { code, value } = answer as { code?: string; value?: unknown }
        const hasFailed = code !== undefined || ran.some((line) => line.includes(' error '))
        const failed = code === undefined || code === 'VALIDATION' ? code : 'FAILED'
        return {
          answer: { value, code: failed },
          ran: ran.filter((line) => !isIgnored(line, hasFailed, known))
        }
      })
    ])
  )
}

function isIgnored(line: string, hasFailed: boolean, known: readonly Difference[]): boolean {
  if (line.endsWith(' wrap')) return true
  const ignoring = known.find(({ ignores }) => ignores?.(line, hasFailed))
  if (ignoring !== undefined) applied.add(ignoring)
  return ignoring !== undefined
}
