/** Writes a comparison as one HTML file without scripts or further files; its charts are SVG. */
import { LABEL } from '../peers/targets.ts'
import { isMeasured } from '../report/comparison.ts'
import { describeConditions } from '../report/conditions.ts'
import { familyOf, layoutOf, layouts, settingOf, titleOf } from '../report/contest.ts'
import { figuresOf, format } from '../report/figures.ts'
import { headerOf, medianRows, rangeRows, ratioRows, remarksOn } from '../report/rows.ts'
import type { Comparison, ContestResult } from '../report/schema.ts'
import { sectionsOf } from '../report/sections.ts'
import { taskOf } from '../task/task.ts'
import { type Chart, chartsOf, concurrencyChart } from './charts.ts'
import { escaped, type Series, seriesOf } from './draw.ts'
import { STYLE } from './style.ts'

/**
 * @param brief for the documentation's site: with links to its pages, and only the charts of the deciding figures,
 *   because the tables are in another file
 */
export function renderHtml(comparison: Comparison, brief = false): string {
  const { contests, command, commit, startedAt } = comparison
  const names = [...new Set(contests.flatMap(({ results }) => results.map(({ target }) => target)))]
  // Targets that are in most charts get the colours that are easiest to distinguish.
  const series = seriesOf(names.toSorted((a, b) => Number(a.includes(LABEL)) - Number(b.includes(LABEL))))
  const curves = families(contests)
    .filter((family) => family.length > 1)
    .map((family) => concurrencyChart(family, headingOf(family.at(-1)!), series))
  const sections = contests.map((contest, index) => {
    const isNew = contest.part !== undefined && contest.part !== contests[index - 1]?.part
    const isFirst = contest.part === contests[0]!.part
    return `${isNew ? `<h2 class="part">${escaped(contest.part!)}</h2>` : ''}${section(contest, index, series, isFirst, brief)}`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Benchmark</title>
<style>${STYLE}</style>
<main>
${brief ? '<a href="../performance.html">← Documentation</a>\n' : ''}<h1>Benchmark</h1>
<pre class="command">${escaped(command)}</pre>
${brief ? `${npmCommands(command)}\n` : ''}${list([...describeConditions(comparison), `commit ${commit ?? 'unknown'}, ${startedAt}`], 'conditions')}
<h2>Who is ahead</h2>
${list(contests.map(summaryOf), 'summary', (line, index) => `<a href="#contest-${index}">${line}</a>`)}
${curves.length === 0 ? '' : `<h2>Throughput against concurrency</h2>${gallery(curves)}`}
${sections.join('\n')}
${sectionsOf(comparison)
  .map(
    ({ title, remark, rows: [header, ...rows] }) => `<h2>${title}</h2><p>${remark}</p>${table(header!, rows)}`
  )
  .join('\n')}
<footer>Ratios above 1 are better for req/s, below 1 for everything else.</footer>
</main>
</html>
`
}

/** Names the npm command that makes the same measurement, and the one that makes all published measurements. */
function npmCommands(command: string): string {
  return `<p>The same from the root of the repository: <code>${escaped(command.replace('bun run compare', 'npm run bench --'))}</code>. <code>npm run bench:publish</code> measures all reports of <a href="../performance.html">Performance</a>.</p>`
}

/**
 * Groups contests that differ only in the number of requests at a time. A contest with one request at a time belongs
 * to both layouts.
 */
function families(contests: readonly ContestResult[]): ContestResult[][] {
  const names = [...new Set(contests.map(familyOf))]
  const belongs = (contest: ContestResult, name: string) =>
    familyOf(contest) === name ||
    (contest.concurrency === 1 && layouts.some((layout) => familyOf({ ...contest, layout }) === name))
  return names.map((name) => contests.filter((contest) => belongs(contest, name)))
}

const headingOf = (contest: ContestResult): string =>
  taskOf(contest).mode === 'suite' ? settingOf(contest) : `${layoutOf(contest)} · ${settingOf(contest)}`

const summaryOf = (contest: ContestResult): string =>
  `${titleOf(contest)}: ${contest.verdicts[0]?.winner ?? 'no clear winner'}`

/**
 * A section for a part. Only the first part shows its charts at first, because a page with a hundred charts is
 * unreadable.
 */
function section(
  contest: ContestResult,
  index: number,
  series: readonly Series[],
  isOpen: boolean,
  brief: boolean
): string {
  const [verdict = '', ...remarks] = remarksOn(contest)
  const header = headerOf(contest)
  const charts = gallery(chartsOf(contest, series).slice(0, brief ? 2 : undefined))
  const details = (summary: string, rows: readonly string[][]) =>
    rows.length === 0 ? '' : `<details><summary>${summary}</summary>${table(header, rows)}</details>`
  const figures = `${table(header, medianRows(contest))}
${details('Ratios', ratioRows(contest))}${details('Lowest and highest', rangeRows(contest))}${details('Every run', runRows(contest))}`
  return `<section id="contest-${index}">
<h3>${escaped(titleOf(contest))}</h3>
<p class="verdict">${escaped(verdict)}</p>
${list([...remarks, ...contest.verdicts.slice(1).map(({ reason }) => reason)])}
${isOpen ? charts : `<details><summary>Charts</summary>${charts}</details>`}
${brief ? '' : figures}
</section>`
}

const runRows = (contest: ContestResult): string[][] =>
  contest.rounds.flatMap((round, run) =>
    round
      .filter(isMeasured)
      .map((outcome) => [
        `${outcome.target}, run ${run + 1}`,
        ...figuresOf(contest).map((name) => format(name, outcome[name])),
        outcome.errors.toLocaleString('en'),
        `${outcome.duration} s`
      ])
  )

const gallery = (charts: readonly Chart[]): string =>
  `<div class="charts">${charts.map(figure).join('')}</div>`

const figure = ({ title, caption, series, lines, svg }: Chart): string =>
  `<figure data-series="${escaped(series.map(({ name }) => name).join('|'))}"><figcaption><b>${escaped(title)}</b> ${caption}</figcaption>${lines ? legend(series) : ''}${svg}</figure>`

const legend = (series: readonly Series[]): string =>
  `<ul class="legend">${series
    .map(
      ({ name, colour, dash }) =>
        `<li><svg class="key" width="24" height="8" aria-hidden="true"><line x1="0" y1="4" x2="24" y2="4" stroke="${colour}" stroke-width="3" stroke-dasharray="${dash}"/></svg>${escaped(name)}</li>`
    )
    .join('')}</ul>`

const list = (
  lines: readonly string[],
  name = '',
  around = (line: string, _index: number): string => line
): string =>
  `<ul class="${name}">${lines.map((line, index) => `<li>${around(escaped(line), index)}</li>`).join('')}</ul>`

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = header.map((title) => `<th scope="col">${escaped(title)}</th>`).join('')
  const body = rows.map(
    ([name = '', ...cells]) =>
      `<tr><th scope="row">${escaped(name)}</th>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`
  )
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
}
