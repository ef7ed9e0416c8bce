/** A service's transports: connections and limits. */
import type { GaugeView, TransportView } from '../protocol.ts'
import { whole, words } from './format.ts'

/** The figures of a transport that are shown before the user opens all figures. */
const FIRST = ['connections', 'inFlight', 'streams']

export function Transports({ transports }: { readonly transports: readonly TransportView[] }) {
  if (transports.length === 0) return null
  return (
    <section aria-labelledby="transports">
      <h3 id="transports">Connections and limits</h3>
      <div class="transports">
        {transports.map((transport, index) => (
          <Transport key={index} transport={transport} />
        ))}
      </div>
    </section>
  )
}

function Transport({ transport: { name, address, gauges } }: { readonly transport: TransportView }) {
  const refused = gauges.filter(({ name, value }) => name.startsWith('refused ') && value > 0)
  const others = gauges.filter(({ name }) => !FIRST.includes(name))
  return (
    <div class="card">
      <h4>
        {name} {address !== undefined && <code>{address}</code>}
      </h4>
      <dl>
        {gauges
          .filter(({ name }) => FIRST.includes(name))
          .map((gauge) => (
            <Gauge key={gauge.name} gauge={gauge} />
          ))}
        {refused.map((gauge) => (
          <Gauge key={gauge.name} gauge={gauge} />
        ))}
      </dl>
      {others.length > 0 && (
        <details>
          <summary>All figures and limits</summary>
          <dl>
            {others.map((gauge) => (
              <Gauge key={gauge.name} gauge={gauge} />
            ))}
          </dl>
        </details>
      )}
    </div>
  )
}

function Gauge({ gauge: { name, value, limit } }: { readonly gauge: GaugeView }) {
  const label = words(name)
  return (
    <div class={name.startsWith('refused ') && value > 0 ? 'gauge some' : 'gauge'}>
      <dt>{label}</dt>
      <dd>
        {whole(value)}
        {limit !== undefined && <span class="limit"> of {whole(limit)}</span>}
        {limit !== undefined && (
          <meter aria-label={label} min={0} max={limit} high={limit * 0.9} value={value} />
        )}
      </dd>
    </div>
  )
}
