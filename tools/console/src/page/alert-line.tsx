/**
 * A line with current problems below the header. Without problems it is empty but keeps its height, so that nothing
 * on the page moves when a problem begins.
 */
import type { AlertsView } from '../protocol.ts'
import { hrefOf } from './route.ts'

export function AlertLine({ alerts }: { readonly alerts: AlertsView | undefined }) {
  const [first, ...others] = alerts?.alerts ?? []
  return (
    <p class={first === undefined ? 'alert-line' : 'alert-line wrong'} role="status">
      {first === undefined ? (
        alerts !== undefined && 'Nothing is wrong'
      ) : (
        <a href={hrefOf('alerts')}>
          <bdi>{first.title}</bdi>
          {others.length > 0 && ` · ${others.length} more ${others.length === 1 ? 'alert' : 'alerts'}`}
        </a>
      )}
    </p>
  )
}
