/**
 * Draws a chart as SVG, without a browser. Colours are CSS variables of the page, so that one drawing is right in
 * light and in dark; the width is that of a phone, and wider screens scale it.
 */
import * as vega from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'

const WIDTH = 340

interface TextMetrics {
  width(item: { readonly fontSize?: number; readonly limit?: number }, text: unknown): number
}

/** Of the size of a font: about what a letter of common fonts for screens is wide, none of them wider. */
const LETTER = 0.62

// Without a canvas vega takes letters to be wider than any, and half of a small chart for names.
const { textMetrics } = vega as unknown as { readonly textMetrics: TextMetrics }
textMetrics.width = ({ fontSize = 11, limit = 0 }, text) => {
  const width = LETTER * fontSize * String(text ?? '').length
  return limit > 0 ? Math.min(limit, width) : width
}

/** Everything a chart does not say by itself. */
const LOOK: NonNullable<TopLevelSpec['config']> = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: 'var(--muted)',
    titleColor: 'var(--muted)',
    titleFontWeight: 'normal',
    labelFontSize: 11,
    titleFontSize: 11,
    gridColor: 'var(--grid)',
    domainColor: 'var(--grid)',
    tickColor: 'var(--grid)',
    labelLimit: 170
  },
  text: { fill: 'var(--ink)', fontSize: 11 }
}

export type Spec = TopLevelSpec

export async function drawChart(spec: Spec): Promise<string> {
  const { spec: compiled } = compile(
    { ...spec, width: WIDTH, autosize: { type: 'fit-x', contains: 'padding' }, padding: 4 } as TopLevelSpec,
    { config: LOOK }
  )
  const view = new vega.View(vega.parse(compiled), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}
