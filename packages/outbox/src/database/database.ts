/** The interface of a database for the rest of this package, whatever the driver. */

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>

/** Runs statements one after the other: a transaction, or one connection. */
export interface Connection {
  /**
   * Runs a statement. Its values are texts, cast by the statement itself: what drivers make of other types differs.
   * Without values there may be several statements.
   */
  query(text: string, values?: readonly (string | null)[]): Promise<readonly Row[]>
}

/** A database with more than one connection. */
export interface Database<Transaction = unknown> extends Connection {
  /**
   * Runs a function in a transaction of its own, which is read committed, because what waits for a lock must then see
   * what was committed meanwhile. Rolled back if the function fails.
   * @param run is given the transaction twice: for this package, and as the driver gives it to its users
   */
  transaction<Result>(
    run: (connection: Connection, transaction: Transaction) => Promise<Result>
  ): Promise<Result>
  /**
   * Listens on a connection of its own.
   * @param lost is called if the connection is lost, unless the driver makes another by itself
   * @returns ends it
   */
  listen(channel: string, wake: () => void, lost: () => void): Promise<() => Promise<void>>
}

/** The isolation level of every transaction of this package. */
export const ISOLATION = 'isolation level read committed'
