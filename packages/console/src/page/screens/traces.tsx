/** The last calls as waterfalls. */
import type { Screen } from './screen.ts'

export const traces: Screen = { id: 'traces', title: 'Traces', View: Traces }

function Traces() {
  return (
    <main>
      <h2>Traces</h2>
    </main>
  )
}
