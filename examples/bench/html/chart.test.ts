import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeHistogram, makeHistogram } from '../load/histogram.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { barChart, concurrencyChart, latencyChart } from './charts.ts'
import { seriesOf } from './draw.ts'
import { renderHtml } from './page.ts'

const histogram = makeHistogram()
for (let value = 1; value <= 1000; value++) histogram.recordValue(value)
const latencyHistogram = encodeHistogram(histogram)

const rounds = [
  [measurement({ rps: 10, latencyHistogram }), measurement({ target: 'nest', rps: 5, latencyHistogram })],
  [measurement({ rps: 12 }), { target: 'nest', notMeasured: 'why <not>', failed: true }]
]
const report = comparison([
  [{}, rounds],
  [{ concurrency: 20 }, rounds]
])
const [contest] = report.contests
const series = seriesOf(['elysia', 'nest', 'absent'])

describe('a chart', () => {
  const charts = {
    bars: barChart(contest!, series, 'rps'),
    latency: latencyChart(contest!, series),
    concurrency: concurrencyChart(report.contests, 't', series)
  }

  for (const [name, chart] of Object.entries(charts)) {
    it(`of ${name} has a mark in the colour of each series that was measured, and no other`, () => {
      assert.deepEqual(
        chart.series.map((one) => one.name),
        ['elysia', 'nest']
      )
      const { svg } = chart
      for (const { colour } of chart.series) assert.ok(svg.includes(colour), `${colour} is missing`)
      assert.ok(!svg.includes(series[2]!.colour))
      assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
    })
  }

  it('of concurrency leaves out targets that were measured with one number of requests only', () => {
    const twice = comparison([
      [{}, [[measurement({}), measurement({ target: 'nest' })]]],
      [{ concurrency: 20 }, [[measurement({})]]]
    ])
    const { series: drawn } = concurrencyChart(twice.contests, 't', series)
    assert.deepEqual(
      drawn.map(({ name }) => name),
      ['elysia']
    )
  })

  it('without any value has no series', () => {
    const unknown = comparison([[{}, [[measurement({ serverCpuUsPerRequest: null })]]]]).contests[0]!
    assert.deepEqual(barChart(unknown, series, 'serverCpuUsPerRequest').series, [])
    assert.deepEqual(latencyChart(unknown, series).series, [])
  })
})

describe('a page', () => {
  it('loads no other file, and no text of a reason can break it', () => {
    const html = renderHtml(report)
    // Ids of one chart could be used by another one.
    assert.equal(/<script|<link|<img|@import|url\(|src=|href="[^#]/.exec(html), null)
    for (const part of ['why &lt;not&gt;', '<pre class="command">bun run compare</pre>', 'a CPU, 2 CPUs']) {
      assert.ok(html.includes(part), part)
    }
  })

  it('with parts has their titles, and shows only the charts of the first part at first', () => {
    const html = renderHtml(
      comparison([
        [{ part: 'All & sundry' }, rounds],
        [{ part: 'Others', concurrency: 20 }, rounds],
        [{ part: 'Others', concurrency: 30 }, rounds]
      ])
    )
    assert.deepEqual(
      [...html.matchAll(/<h2 class="part">(.*?)<\/h2>/g)].map(([, title]) => title),
      ['All &amp; sundry', 'Others']
    )
    assert.equal(html.match(/<summary>Charts<\/summary>/g)?.length, 2)
  })

  it('for publication has the charts of the deciding figures, and no tables', () => {
    const html = renderHtml(report, true)
    assert.equal(html.match(/<figure/g)?.length, 1 + 2 * 2)
    assert.ok(!html.includes('<table'))
    assert.ok(html.includes('<a href="../performance.html">← Documentation</a>'))
    assert.ok(html.includes('<code>npm run bench --</code>'))
  })

  it('without contests is still a page', () => {
    assert.ok(renderHtml(comparison([])).endsWith('</html>\n'))
  })
})
