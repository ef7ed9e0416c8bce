/**
 * A line with current problems below the header. Without problems it is empty but keeps its height, so that nothing
 * on the page moves when a problem begins.
 */
import { plural } from '../plural.ts'
import type { AlertsView, Overview } from '../protocol.ts'
import { calmOf } from './calm.ts'
import { hrefOf } from './route.ts'

export function AlertLine(props: {
  readonly alerts: AlertsView | undefined
  readonly overview: Overview | undefined
}) {
  const { alerts, overview } = props
  const [first, ...others] = alerts?.alerts ?? []
  return (
    <p class={first === undefined ? 'alert-line' : 'alert-line wrong'} role="status">
      {first === undefined ? (
        alerts !== undefined && calmOf(overview)?.text
      ) : (
        <a href={hrefOf('alerts')}>
          <bdi>{first.title}</bdi>
          {others.length > 0 && ` · ${plural(others.length, 'more alert')}`}
        </a>
      )}
    </p>
  )
}
