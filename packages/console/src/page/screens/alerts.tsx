/** What went wrong. */
import type { Screen } from './screen.ts'

export const alerts: Screen = { id: 'alerts', title: 'Alerts', View: Alerts }

function Alerts() {
  return (
    <main>
      <h2>Alerts</h2>
    </main>
  )
}
