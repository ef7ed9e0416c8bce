/** One trace: a bar for each span, and the details of the span that the user has opened. */
import { useState } from 'preact/hooks'
import { plural } from '../../plural.ts'
import type { SpanView, TraceView } from '../../protocol.ts'
import { axisText, clock, ms } from '../format.ts'
import { type Row, waterfallOf } from './waterfall-model.ts'

export function Waterfall({ trace }: { readonly trace: TraceView }) {
  const { rows, start, duration, services } = waterfallOf(trace)
  const [opened, open] = useState<string | undefined>()
  const failed = rows.filter(({ span }) => span.error !== undefined).length
  return (
    <>
      <p class="facts">
        {clock(start)} · {ms(duration)} ms · {plural(rows.length, 'span')}
        {failed > 0 && <span class="some"> · {failed} failed</span>}
        {trace.leftOut > 0 && ` · not kept: ${plural(trace.leftOut, 'more span')}`}
      </p>
      <ul class="legend">
        {services.map((service, index) => (
          <li key={service}>
            <span class={`mark line${index % 6}`} aria-hidden="true" />
            <bdi class="label">{service || 'a service without a name'}</bdi>
          </li>
        ))}
      </ul>
      <div class="ruler" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75, 1].map((part) => (
          <span key={part}>{axisText(part * duration)} ms</span>
        ))}
      </div>
      <ol class="waterfall">
        {rows.map((row) => (
          <SpanRow
            key={row.span.id}
            row={row}
            start={start}
            isOpen={opened === row.span.id}
            toggle={() => open(opened === row.span.id ? undefined : row.span.id)}
          />
        ))}
      </ol>
    </>
  )
}

function SpanRow(props: {
  readonly row: Row
  readonly start: number
  readonly isOpen: boolean
  readonly toggle: () => void
}) {
  const { row, start, isOpen, toggle } = props
  const { span, depth, from, length, colour } = row
  return (
    <li class={span.error === undefined ? '' : 'failed'}>
      <button type="button" aria-expanded={isOpen} onClick={toggle}>
        <span class="what" style={{ '--depth': depth }}>
          <bdi class="name">{span.name}</bdi>
          <bdi class="note">
            {span.service} {span.kind}
          </bdi>
        </span>
        <span class="track" aria-hidden="true">
          <span
            class={`bar-of line${colour}`}
            style={{ left: `min(${100 * from}%, 100% - 3px)`, width: `max(3px, ${100 * length}%)` }}
          />
        </span>
        <span class="time">{ms(span.duration)} ms</span>
      </button>
      {isOpen && <Details span={span} start={start} />}
    </li>
  )
}

function Details({ span, start }: { readonly span: SpanView; readonly start: number }) {
  return (
    <div class="details">
      {span.error !== undefined && (
        <p class="problem">
          <bdi>{span.error}</bdi>
        </p>
      )}
      <dl>
        <div>
          <dt>began after</dt>
          <dd>{ms(span.start - start)} ms</dd>
        </div>
        <div>
          <dt>span</dt>
          <dd>
            <code>{span.id}</code>
          </dd>
        </div>
        {span.attributes.map(([name, value], index) => (
          <div key={index}>
            <dt>
              <bdi>{name}</bdi>
            </dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      {span.logs.length > 0 && (
        <ol class="logs" aria-label="Logs">
          {span.logs.map((line, index) => (
            <li key={index}>
              <span class="note">
                {ms(Math.max(0, line.at - start))} ms {line.level}
              </span>{' '}
              <bdi>{line.text}</bdi>
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}
