/** A chart: lines over time. The values at the pointer, or else the latest values, are shown as text. */
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { Mark } from '../protocol.ts'
import { axisText, clock } from './format.ts'
import type { Lines } from './history.ts'

const HEIGHT = 180
/** Steps between the labels of whole numbers: 1, 2, 5, 10, 20, 50, … */
const WHOLE = [1, 2, 5]
  .flatMap((digit) => [...Array(9).keys()].map((zeros) => digit * 10 ** zeros))
  .sort((a, b) => a - b)
/** Seconds between the labels of times. */
const SECONDS = [5, 15, 30, 60, 120, 300, 600, 1_200, 1_800]

/** The values that differ between two drawings of a chart. */
interface Drawn {
  readonly marks: readonly Mark[]
  readonly from: number
}

export function Chart(
  props: Lines & {
    readonly title: string
    readonly format: (value: number) => string
    /** The time of the left edge, in seconds since 1970; the right edge is now. Charts side by side so have one axis. */
    readonly from: number
    /** Whether the values are whole numbers, so that the axis has no others. */
    readonly areWhole?: boolean
    /** Changes that are marked by vertical lines. */
    readonly marks?: readonly Mark[]
    /** The text that is shown if there are no lines. */
    readonly empty?: string
  }
) {
  const { title, times, lines, format, from, areWhole = false, marks = [], empty = 'No figures yet' } = props
  const drawn = useRef<Drawn>({ marks, from })
  drawn.current = { marks, from }
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const [pointed, point] = useState<number | undefined>()
  const isDark = useDark()
  const names = JSON.stringify(lines.map(({ label }) => label))
  const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData

  // The set of lines changes with the busy patterns. A different set of lines needs a new uPlot.
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const made = new uPlot(
      optionsOf(element, lines.length, areWhole, point, () => drawn.current),
      data,
      element
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [names, isDark])
  useEffect(() => plot.current?.setData(data))

  const isEmpty = !hasValues(lines)
  const at = pointed !== undefined && pointed < times.length ? pointed : times.length - 1
  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (by === undefined || times.length === 0) return
    event.preventDefault()
    const to = Math.min(times.length - 1, Math.max(0, at + by))
    const left = plot.current?.valToPos(times[to] as number, 'x') ?? -1
    plot.current?.setCursor({ left, top: 0 })
  }
  const away = () => plot.current?.setCursor({ left: -1, top: -1 })
  const latest = lines.map(({ label, values }) => {
    const value = values[at]
    return [label, value === null || value === undefined ? '–' : format(value)] as const
  })
  return (
    <figure class="chart">
      <figcaption>
        {title}
        {pointed !== undefined && at >= 0 && <time> at {clock((times[at] as number) * 1_000)}</time>}
      </figcaption>
      {/* The values of the picture are below it as text. */}
      <section
        class="plot"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from value to value, as the pointer does
        tabIndex={0}
        aria-label={`${title}: values by arrow keys`}
        onKeyDown={step}
        onBlur={away}
      >
        <div ref={box} aria-hidden="true" />
      </section>
      <ul class="legend">
        {isEmpty && <li class="hint">{empty}</li>}
        {(isEmpty ? [] : latest).map(([label, value], index) => (
          <li key={label}>
            <span class={`mark line${index}`} aria-hidden="true" />
            <span class="label">{label}</span> <b>{value}</b>
          </li>
        ))}
      </ul>
    </figure>
  )
}

function optionsOf(
  element: HTMLElement,
  count: number,
  areWhole: boolean,
  point: (index: number | undefined) => void,
  drawn: () => Drawn
): uPlot.Options {
  // A canvas does not know CSS variables, so an element with that colour is used to find its value.
  const probe = element.appendChild(document.createElement('i'))
  const colour = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const soft = colour('--soft')
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--rule'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif'
  }
  const options: uPlot.Options = {
    width: Math.max(1, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 6 } },
    scales: {
      x: { range: () => [drawn().from, Date.now() / 1_000] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] }
    },
    axes: [
      {
        ...axis,
        space: 75,
        incrs: SECONDS,
        size: 28,
        values: (_, splits) => splits.map((seconds) => clock(seconds * 1_000))
      },
      { ...axis, size: 52, values: (_, splits) => splits.map(axisText), ...(areWhole && { incrs: WHOLE }) }
    ],
    series: [
      {},
      ...Array.from({ length: count }, (_, index) => ({
        stroke: colour(`--line${index}`),
        width: 2,
        // A single value between two gaps is drawn as a point, since it makes no line.
        points: { show: true, size: 4, filter: alone },
        spanGaps: false
      }))
    ],
    hooks: {
      setCursor: [({ cursor }) => point(cursor.idx ?? undefined)],
      draw: [(plot) => drawMarks(plot, drawn().marks, soft)]
    }
  }
  probe.remove()
  return options
}

/** Whether any line has a value. */
export function hasValues(lines: Lines['lines']): boolean {
  return lines.some(({ values }) => values.some((value) => value != null))
}

/** The indexes of values without neighbours. */
function alone(plot: uPlot, line: number): number[] {
  const values = plot.data[line] ?? []
  return [...values.keys()].filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null
  )
}

/** Draws a vertical line at each change. */
function drawMarks({ ctx, bbox, valToPos, scales }: uPlot, marks: readonly Mark[], colour: string): void {
  const { min, max } = scales['x'] ?? {}
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = devicePixelRatio
  for (const { at, what } of marks) {
    const seconds = at / 1_000
    if (seconds < (min ?? Number.POSITIVE_INFINITY) || seconds > (max ?? 0)) continue
    const x = Math.round(valToPos(seconds, 'x', true))
    ctx.setLineDash(what === 'version' ? [] : [3 * devicePixelRatio, 3 * devicePixelRatio])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** Whether the page uses dark colours. The picture has to be painted again when that changes. */
function useDark(): boolean {
  const query = matchMedia('(prefers-color-scheme: dark)')
  const [isDark, setDark] = useState(query.matches)
  useEffect(() => {
    const changed = () => setDark(query.matches)
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [])
  return isDark
}
