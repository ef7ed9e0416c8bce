/** Events that are deleted when they are too old, while the server is killed. */
import { it } from 'node:test'
import { liveWithRetention } from './testing/retention.ts'

it('lags and bytes are right at the end, though the server was killed while events were deleted', {
  timeout: 600_000
}, async () => {
  await liveWithRetention({ events: 20_000, kills: 10, hasReader: false })
})
