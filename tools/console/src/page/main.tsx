/** The page: links to its screens, and the screen that the address names. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { AlertLine } from './alert-line.tsx'
import { focusScreen, keepFocus } from './focus.ts'
import { hrefOf, useRoute } from './route.ts'
import { SCREENS } from './screens/index.ts'
import type { Screen } from './screens/screen.ts'
import { follow, NOTHING_YET, type Shown } from './updates.ts'

const CONNECTION = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost, reconnecting…'
} as const

function App() {
  const [shown, setShown] = useState<Shown>(NOTHING_YET)
  useEffect(() => {
    let latest: Shown | undefined
    // While the page is hidden nothing is drawn; the latest state is drawn when it becomes visible.
    const draw = () => {
      if (!document.hidden && latest !== undefined) setShown(latest)
    }
    document.addEventListener('visibilitychange', draw)
    void follow((next) => {
      latest = next
      draw()
    })
  }, [])
  const [id, ...path] = useRoute()
  const screens = SCREENS.filter((each) => each.isShown?.(shown) !== false)
  const screen = screens.find((each) => each.id === id) ?? (screens[0] as Screen)
  const { connection, overview } = shown
  return (
    <>
      <button type="button" class="skip" onClick={focusScreen}>
        Skip to the content
      </button>
      <header>
        <h1>Console</h1>
        <nav aria-label="Screens" class="screens">
          {screens.map((each) => {
            const number = each.count?.(shown) ?? 0
            return (
              <a key={each.id} href={hrefOf(each.id)} aria-current={each === screen ? 'page' : undefined}>
                {each.title}
                {number > 0 && <span class="count">{number > 99 ? '99+' : number}</span>}
              </a>
            )
          })}
        </nav>
        <p class={`connection ${connection}`} role="status">
          {CONNECTION[connection]}
        </p>
      </header>
      <AlertLine alerts={shown.topics.alerts} overview={overview} />
      {overview === undefined ? (
        <main />
      ) : (
        <screen.View key={screen.id} shown={shown} overview={overview} path={path} />
      )}
    </>
  )
}

const page = document.getElementById('page') as HTMLElement
render(<App />, page)
keepFocus(page)
