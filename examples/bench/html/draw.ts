/**
 * Bars and curves as SVG, without a browser. Colours are CSS variables of the page, so that one drawing fits a light
 * and a dark page; its width fits a phone, and wider screens scale it.
 */

/** The look of a series in all charts of a page. */
export interface Series {
  readonly name: string
  readonly colour: string
  /** The dashes of its lines, which distinguish them without colours. */
  readonly dash: string
}

const DASHES = ['', '6 3', '2 2', '8 3 2 3', '1 3', '12 4']
/** The number of colours in the style sheet. */
export const COLOURS = 14

export const seriesOf = (names: readonly string[]): Series[] =>
  names.map((name, index) => ({
    name,
    colour: `var(--series-${index % COLOURS})`,
    dash: DASHES[index % DASHES.length]!
  }))

const WIDTH = 340
const ROW = 22
/** The width of a letter at 11 px; no common screen font has wider letters on average. */
const LETTER = 6.8
/** The room for a value behind its bar. */
const VALUE = 48

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
/** Escapes text for HTML: names and reasons come from files and servers. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const at = (value: number): string => value.toFixed(1)

const svg = (height: number, content: readonly string[]): string =>
  `<svg viewBox="0 0 ${WIDTH} ${height}" role="img">${content.join('')}</svg>`

const text = (
  x: number,
  y: number,
  anchor: 'start' | 'middle' | 'end',
  of: string,
  isQuiet = false
): string =>
  `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${isQuiet ? ' class="quiet"' : ''}>${escaped(of)}</text>`

const line = (x1: number, y1: number, x2: number, y2: number, stroke: string): string =>
  `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="${stroke}"/>`

export interface Bar {
  readonly series: Series
  readonly median: number
  readonly min: number
  readonly max: number
  /** The values of the single runs, if they are known. */
  readonly runs: readonly number[]
}

/**
 * Draws a row for each bar: its name, the median as a bar and as a number, and a whisker from the lowest to the
 * highest run.
 */
export function drawBars(bars: readonly Bar[]): string {
  const fits = Math.floor(150 / LETTER)
  const nameOf = ({ series: { name } }: Bar) => (name.length > fits ? `${name.slice(0, fits - 1)}…` : name)
  const from = LETTER * Math.max(...bars.map((bar) => nameOf(bar).length)) + 6
  const most = Math.max(...bars.map(({ max }) => max)) || 1
  const x = (value: number) => from + (value / most) * (WIDTH - VALUE - from)
  const rows = bars.map((bar, row) => {
    const { median, min, max, runs, series } = bar
    const middle = row * ROW + ROW / 2
    return [
      text(from - 6, middle + 4, 'end', nameOf(bar)),
      `<rect x="${at(from)}" y="${middle - 7}" width="${at(x(median) - from)}" height="14" fill="${series.colour}"/>`,
      ...(min === max ? [] : [line(x(min), middle, x(max), middle, 'var(--ink)')]),
      ...(runs.length < 2 ? [] : runs.map((run) => `<circle cx="${at(x(run))}" cy="${middle}" r="2"/>`)),
      text(x(max) + 4, middle + 4, 'start', short.format(median), true)
    ].join('')
  })
  return svg(ROW * bars.length, rows)
}

export interface Curve {
  readonly series: Series
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

const HEIGHT = 200
const LEFT = 44
const BOTTOM = 22

/** Draws curves on two logarithmic axes; `ticks` are the labelled values of x. */
export function drawCurves(
  curves: readonly Curve[],
  ticks: readonly (readonly [x: number, label: string])[]
): string {
  const points = curves.flatMap((curve) => curve.points)
  const xs = [...points.map(({ x }) => x), ...ticks.map(([x]) => x)].map(Math.log10)
  const ys = points.map(({ y }) => Math.log10(y))
  const [left, right] = [Math.min(...xs), Math.max(...xs)]
  const [low, high] = [
    Math.floor(Math.min(...ys)),
    Math.max(Math.ceil(Math.max(...ys)), Math.floor(Math.min(...ys)) + 1)
  ]
  const x = (value: number) => LEFT + ((Math.log10(value) - left) / (right - left || 1)) * (WIDTH - LEFT - 22)
  const y = (value: number) =>
    HEIGHT - BOTTOM - ((Math.log10(value) - low) / (high - low)) * (HEIGHT - BOTTOM - 10)
  const decades = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
  return svg(HEIGHT, [
    ...decades.flatMap((value) => [
      line(LEFT, y(value), WIDTH - 20, y(value), 'var(--grid)'),
      text(LEFT - 4, y(value) + 4, 'end', short.format(value), true)
    ]),
    ...ticks.map(([value, label]) => text(x(value), HEIGHT - 6, 'middle', label, true)),
    ...curves.map(({ series: { colour, dash }, points: of }) => {
      const path = of.map((point) => `${at(x(point.x))},${at(y(point.y))}`).join(' ')
      return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}/>`
    })
  ])
}
