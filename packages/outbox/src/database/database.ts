/** The interface through which the rest of this package uses a database, whatever the driver. */

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>

/** A transaction or a single connection, which runs statements one after the other. */
export interface Connection {
  /**
   * Runs a statement. Its values are texts, and the statement casts them to other types, because drivers convert
   * other types differently. Without values the text may contain several statements.
   */
  query(text: string, values?: readonly (string | null)[]): Promise<readonly Row[]>
}

/** A database with more than one connection. */
export interface Database<Transaction = unknown> extends Connection {
  /**
   * Runs a function in a new transaction. The isolation level is read committed, so that a statement which has
   * waited for a lock sees what was committed meanwhile. The transaction is rolled back if the function fails.
   * @param run gets the transaction twice: as this package uses it, and as the driver's users do
   */
  transaction<Result>(
    run: (connection: Connection, transaction: Transaction) => Promise<Result>
  ): Promise<Result>
  /**
   * Listens on a separate connection.
   * @param wake called for each notification, and each time listening begins, also after a lost connection, because
   * what was notified before was not heard
   * @param lost called once if the connection is lost after listening has begun, unless the driver reconnects by itself
   * @returns a function that stops listening; rejects if the connection is lost before listening has begun
   */
  listen(channel: string, wake: () => void, lost: () => void): Promise<() => Promise<void>>
}

/** The isolation level of every transaction of this package. */
export const ISOLATION = 'isolation level read committed'
