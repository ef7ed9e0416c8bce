/** Publishers that go on while the connection of their client is lost again and again. */
import type { Step } from './plan.ts'
import type { Random } from './random.ts'

export function loadOf(random: Random): readonly Step[] {
  const publishers = [0, 1, 2, 3].map((at): Step => {
    const shared = { client: 0, keys: 3, delay: 0, takes: 0, failures: 0, failing: 'error' as const }
    const pace = at < 2 ? 'in turn' : 'steadily'
    return {
      at,
      do: 'publish',
      to: [at % 2 === 0 ? 'kept' : 'filed'],
      hasId: false,
      pace,
      times: 100,
      ...shared
    }
  })
  return [...publishers, { at: random.between(5, 60), do: 'lose', end: 'client', n: 0, for: 0, times: 20 }]
}
