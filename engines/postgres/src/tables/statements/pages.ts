/** Pages of long lists: large events come in several, so that no answer needs much memory. */

/** Bytes of the bodies in one page, but for its last event. */
export const PAGE_BYTES = 4 * 1024 * 1024

/** The bytes of all bodies before a row. @param order the columns by which the rows are ordered */
export function bytesBefore(order: string): string {
  return `coalesce(sum(octet_length(body)) over (order by ${order} rows between unbounded preceding and 1 preceding), 0)`
}
