/** What groups wait for, and dead letters. */
import type { Screen } from './screen.ts'

export const events: Screen = { id: 'events', title: 'Events', View: Events }

function Events() {
  return (
    <main>
      <h2>Events</h2>
    </main>
  )
}
