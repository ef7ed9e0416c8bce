/** How the series of a chart are told apart: by colour, and for lines also by their dashes. */

const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [12, 4]]
/** As many as the style sheet has colours. */
export const COLOURS = 14

export interface Series {
  readonly name: string
  readonly colour: string
  readonly dash: readonly number[]
}

/** One for each name; a name has the same look in all charts of a page. */
export const seriesOf = (names: readonly string[]): Series[] =>
  names.map((name, index) => ({
    name,
    colour: `var(--series-${index % COLOURS})`,
    dash: DASHES[index % DASHES.length]!
  }))

/** The scales that give every series its look. */
export const colourScale = (series: readonly Series[]) => ({
  domain: series.map(({ name }) => name),
  range: series.map(({ colour }) => colour)
})

export const dashScale = (series: readonly Series[]) => ({
  domain: series.map(({ name }) => name),
  range: series.map(({ dash }) => [...dash])
})
