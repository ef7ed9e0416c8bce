/** A comparison as one HTML file that needs nothing else: no script, no network, charts drawn beforehand. */
import { LABEL } from '../peers/targets.ts'
import { isMeasured } from '../report/comparison.ts'
import { describeConditions } from '../report/conditions.ts'
import { familyOf, layoutOf, layouts, loadOf, settingOf, titleOf } from '../report/contest.ts'
import { type Figure, figuresOf, format, times, titleOfFigure } from '../report/figures.ts'
import { isLimitIn, isOursIn } from '../report/roles.ts'
import { headerOf, medianRows, rangeRows, ratioRows, remarksOn } from '../report/rows.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { type Section, sectionsOf } from '../report/sections.ts'
import { taskOf } from '../task/task.ts'
import { drawChart } from './chart.ts'
import { type Chart, concurrencyChart } from './charts.ts'
import { chartsOf } from './gallery.ts'
import { type Series, seriesOf } from './series.ts'
import { STYLE } from './style.ts'

export async function renderHtml(comparison: Comparison): Promise<string> {
  const { contests } = comparison
  const names = [...new Set(contests.flatMap(({ results }) => results.map(({ target }) => target)))]
  // Those that are in most charts get the colours that are easiest to tell apart.
  const series = seriesOf([
    ...names.filter((name) => !name.includes(LABEL)),
    ...names.filter((name) => name.includes(LABEL))
  ])
  const curved = families(contests).filter((family) => family.length > 1)
  const curves = await Promise.all(
    curved.map(async (family) => {
      // One request at a time comes first and may be of the other shape.
      const first = family.at(-1)
      const setting = settingOf(first!)
      const heading = taskOf(first!).mode === 'suite' ? setting : `${layoutOf(first!)} · ${setting}`
      return figure(concurrencyChart(family, heading, series))
    })
  )
  const parts = await Promise.all(partsOf(contests).map((part, index) => partOf(part, index, series)))
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Benchmark</title>
<style>${STYLE}</style>
<main>
<h1>Benchmark</h1>
<pre class="command">${escaped(comparison.command)}</pre>
<ul class="conditions">${describeConditions(comparison)
    .map((line) => `<li>${escaped(line)}</li>`)
    .join('')}
<li>commit ${escaped(comparison.commit ?? 'unknown')}, <time>${escaped(comparison.startedAt)}</time></li></ul>
<h2>Who is ahead</h2>
${summaryTable(contests)}
${curves.length === 0 ? '' : `<h2>Throughput against concurrency</h2><div class="charts">${curves.join('')}</div>`}
${parts.join('\n')}
${sectionsOf(comparison).map(renderSection).join('\n')}
<footer>Above 1 is better for req/s, below 1 for everything else. Whiskers and bands go from the lowest to the highest run. All figures of all runs are in the JSON beside this file.</footer>
</main>
</html>
`
}

/** Contests that differ only in how much is asked at a time, together; one request at a time belongs to both shapes. */
function families(contests: readonly ContestResult[]): ContestResult[][] {
  const names = [...new Set(contests.map(familyOf))]
  const belongs = (contest: ContestResult, name: string) =>
    familyOf(contest) === name ||
    (contest.concurrency === 1 && layouts.some((layout) => familyOf({ ...contest, layout }) === name))
  return names.map((name) => contests.filter((contest) => belongs(contest, name)))
}

function summaryTable(contests: readonly ContestResult[]): string {
  const rows = partsOf(contests).map(({ title, contests: of }) => [
    title === undefined
      ? ''
      : `<tr class="part"><th colspan="3" scope="rowgroup">${escaped(title)}</th></tr>`,
    ...of.map(summaryRow)
  ])
  return `<div class="table"><table class="summary"><thead><tr><th>contest</th><th>ahead</th><th>req/s</th></tr></thead><tbody>${rows.flat().join('')}</tbody></table></div>`
}

function summaryRow({ contest, index }: Part['contests'][number]): string {
  const [verdict] = contest.verdicts
  const asked = contest.client === 'own' ? '' : `, ${contest.client} client`
  const name =
    taskOf(contest).mode === 'suite'
      ? titleOf(contest)
      : `${layoutOf(contest)}, ${loadOf(contest)}, ${settingOf(contest)}${asked}`
  const ahead =
    verdict?.winner == null
      ? 'no clear winner'
      : `${verdict.winner}, in ${titleOfFigure(verdict.figure, contest)}`
  // What decides is not always a rate.
  const figure = verdict?.figure ?? 'rps'
  const ratios = ratiosIn(contest, figure).map(
    ({ target, ratio, ratioTo }) =>
      `${target} ${times(ratio?.[figure]?.median)} of ${ratioTo}${figure === 'rps' ? '' : ` in ${titleOfFigure(figure, contest)}`}`
  )
  return `<tr><th scope="row"><a href="#contest-${index}">${escaped(name)}</a></th><td>${escaped(ahead)}</td><td>${escaped(ratios.join(', '))}</td></tr>`
}

/** Of many, ours: the ratios of all of them are in the table of the contest. */
function ratiosIn(contest: ContestResult, figure: Figure): readonly TargetResult[] {
  const { results } = contest
  const known = results.filter(({ target, ratio }) => ratio?.[figure] != null && !isLimitIn(contest, target))
  const ours = known.filter(({ target }) => isOursIn(contest, target))
  return known.length <= 2 || ours.length === 0 ? known : ours.slice(0, 1)
}

interface Part {
  readonly title: string | undefined
  /** With their places in the report. */
  readonly contests: readonly { readonly contest: ContestResult; readonly index: number }[]
}

/** Contests about the same thing; a report may have no parts at all. */
function partsOf(contests: readonly ContestResult[]): Part[] {
  const numbered = contests.map((contest, index) => ({ contest, index }))
  const titles = [...new Set(contests.map(({ part }) => part))]
  return titles.map((title) => ({
    title,
    contests: numbered.filter(({ contest }) => contest.part === title)
  }))
}

/** Only the first part shows its charts at once: a page of a hundred charts shows nothing. */
async function partOf({ title, contests }: Part, place: number, series: readonly Series[]): Promise<string> {
  const sections = await Promise.all(
    contests.map(({ contest, index }) => section(contest, index, series, place === 0))
  )
  return [...(title === undefined ? [] : [`<h2 class="part">${escaped(title)}</h2>`]), ...sections].join('\n')
}

async function section(
  contest: ContestResult,
  index: number,
  series: readonly Series[],
  isOpen: boolean
): Promise<string> {
  const charts = chartsOf(contest, series).filter((chart) => chart.series.length > 0)
  const drawn = await Promise.all(charts.map(figure))
  const [verdict, ...remarks] = remarksOn(contest)
  const ratios = ratioRows(contest)
  const header = headerOf(contest)
  const heading = contest.part === undefined ? 'h2' : 'h3'
  const gallery = `<div class="charts">${drawn.join('')}</div>`
  return `<section id="contest-${index}">
<${heading}>${escaped(titleOf(contest))}</${heading}>
<p class="verdict">${escaped(verdict ?? '')}</p>
<ul>${[...remarks, ...contest.verdicts.slice(1).map(({ reason }) => reason)].map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>
${isOpen ? gallery : `<details><summary>Charts</summary>${gallery}</details>`}
<div class="table">${table(header, medianRows(contest))}</div>
${ratios.length === 0 ? '' : `<details${ratios.length > 3 ? '' : ' open'}><summary>Ratios</summary><div class="table">${table(header, ratios)}</div></details>`}
<details><summary>Every run</summary><div class="table">${table(header, [...rangeRows(contest), ...runRows(contest)])}</div></details>
</section>`
}

const renderSection = ({ title, remark, rows: [header, ...rows] }: Section): string =>
  `<h2 class="part">${title}</h2><p>${escaped(remark)}</p><div class="table">${table(header!, rows)}</div>`

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

async function figure(chart: Chart): Promise<string> {
  const names = chart.series.map(({ name }) => name)
  const svg = await drawChart(chart.spec)
  return `<figure data-series="${escaped(names.join('|'))}"><figcaption><b>${escaped(chart.title)}</b> ${escaped(chart.caption)}</figcaption>${chart.lines ? legend(chart.series) : ''}${svg}</figure>`
}

const legend = (series: readonly Series[]): string =>
  `<ul class="legend">${series
    .map(
      ({ name, colour, dash }) =>
        `<li><svg class="key" width="24" height="8" aria-hidden="true"><line x1="0" y1="4" x2="24" y2="4" stroke="${colour}" stroke-width="3" stroke-dasharray="${dash.join(' ')}"/></svg>${escaped(name)}</li>`
    )
    .join('')}</ul>`

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = header.map((title) => `<th scope="col">${escaped(title)}</th>`).join('')
  const body = rows.map(
    ([name = '', ...cells]) =>
      `<tr><th scope="row">${escaped(name)}</th>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`
  )
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Names and reasons come from files and servers, and may hold anything. */
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)
