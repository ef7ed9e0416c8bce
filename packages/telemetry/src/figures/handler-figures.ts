/** The figures of handlers, as a service describes itself by them. */
import type { HandlerFigures } from '@elysia-microservices/transport'
import { figures } from './figures.ts'
import { BOUNDS } from './histogram.ts'

/** Those of all patterns that this process has received messages of. */
export function handlerFigures(): HandlerFigures[] {
  return (['server', 'consumer'] as const).flatMap((side) =>
    [...figures[side].all()].map(({ pattern, inFlight, durations }) => {
      const all = [...durations]
      return {
        kind: side === 'server' ? 'message' : 'event',
        pattern,
        inFlight,
        outcomes: Object.fromEntries(all.map(([code, { count }]) => [code, count])),
        durations: {
          bounds: BOUNDS,
          counts: [...BOUNDS, 0].map((_, bucket) =>
            all.reduce((sum, [, { counts }]) => sum + (counts[bucket] as number), 0)
          )
        }
      }
    })
  )
}
