import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeHistogram, makeHistogram } from '../load/histogram.ts'
import { comparison } from '../test-support/comparison.ts'
import { measurement } from '../test-support/measurement.ts'
import { drawChart } from './chart.ts'
import { barChart, concurrencyChart, latencyChart, memoryChart } from './charts.ts'
import { renderHtml } from './page.ts'
import { seriesOf } from './series.ts'

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
    bars: barChart(contest!, series, { figure: 'rps', title: 't', caption: 'c' }),
    latency: latencyChart(contest!, series, { title: 't', caption: 'c' }),
    concurrency: concurrencyChart(report.contests, 't', series),
    memory: memoryChart(contest!, series)
  }

  for (const [name, chart] of Object.entries(charts)) {
    it(`of ${name} has a mark in the colour of each series that was measured, and no other`, async () => {
      assert.deepEqual(
        chart.series.map((one) => one.name),
        ['elysia', 'nest']
      )
      const svg = await drawChart(chart.spec)
      for (const { colour } of chart.series) assert.ok(svg.includes(colour), `${colour} is missing`)
      assert.ok(!svg.includes(series[2]!.colour))
      assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
    })
  }

  it('of requests at a time leaves out who was measured with one number of them only', () => {
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

  it('of what nobody knows has no series', () => {
    const unknown = comparison([[{}, [[measurement({ serverCpuUsPerRequest: null })]]]]).contests[0]!
    const of = { figure: 'serverCpuUsPerRequest', title: 't', caption: 'c' } as const
    assert.deepEqual(barChart(unknown, series, of).series, [])
    assert.deepEqual(latencyChart(unknown, series, of).series, [])
  })
})

describe('a page', () => {
  it('takes nothing from anywhere, and lets no reason break it', async () => {
    const html = await renderHtml(report)
    // Ids of one drawing would be found by another.
    assert.equal(/<script|<link|<img|@import|url\(|src=|href="[^#]/.exec(html), null)
    for (const part of ['why &lt;not&gt;', '<pre class="command">bun run compare</pre>', 'a CPU, 2 CPUs']) {
      assert.ok(html.includes(part), part)
    }
  })

  it('with parts has their titles, and shows the charts of the first one at once', async () => {
    const html = await renderHtml(
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

  it('of nothing is a page all the same', async () => {
    assert.ok((await renderHtml(comparison([]))).endsWith('</html>\n'))
  })
})
