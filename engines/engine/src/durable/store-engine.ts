/** The engine of a store over a connection: a broker, of which the calls are not needed, or a database. */
import type { CarrierListener, Engine } from '../carrier.ts'

/** One connection to a store. */
export interface StoreConnection {
  /** False while the server is lost. */
  readonly isConnected: boolean
  /** The address of the server, for errors and logs. */
  readonly server: string
  /** Closes the connection. */
  close(): Promise<void>
}

/** The interface of a store over a connection. Every engine has it. */
export interface StoreEngine<Connection extends StoreConnection = StoreConnection>
  extends Pick<Engine, 'name' | 'title' | 'where' | 'wildcards' | 'whyNot' | 'recordOf' | 'whyNoHeader'> {
  /**
   * Opens a connection.
   * @throws {ConnectionError} no server can be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  open(listener: CarrierListener): Promise<Connection>
}
