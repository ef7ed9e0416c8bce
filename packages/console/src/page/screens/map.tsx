/** Who calls whom, live. */
import type { Screen } from './screen.ts'

export const map: Screen = { id: 'map', title: 'Map', View: MapScreen }

function MapScreen() {
  return (
    <main>
      <h2>Map</h2>
    </main>
  )
}
