/** Events that are deleted when they are too old, while everything else goes on. */
import { describe, it } from 'node:test'
import { liveWithRetention } from './testing/retention.ts'

describe('events in PostgreSQL that several processes delete when they are too old', () => {
  it('are handled once or counted as missed, by each group; lags and bytes are right at the end', async () => {
    await liveWithRetention({ events: 4_000, kills: 0, hasReader: false })
  })

  it('while a transaction stays open', async () => {
    await liveWithRetention({ events: 2_000, kills: 0, hasReader: true })
  })
})
