/** Pages of long lists: large events come in several, so that no answer needs much memory. */

/** Bytes of the bodies in one page, but for its last event. */
export const PAGE_BYTES = 4 * 1024 * 1024

/**
 * Columns of a page that is to be cut: `before` has the bytes of all bodies before a row, and `found` the number of all
 * rows, which tells whether a page was cut.
 * @param order the columns by which the rows are ordered
 */
export function cutColumns(order: string): string {
  return `coalesce(sum(octet_length(body)) over (order by ${order} rows between unbounded preceding and 1 preceding), 0) as before,
  (count(*) over ())::integer as found`
}
