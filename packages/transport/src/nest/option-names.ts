/** Names of options of Nest's TCP transport, each with the name of the same option in this library. */
export const NEST_OPTION_NAMES: Readonly<Record<string, string>> = {
  maxBufferSize: 'limits.receiveBuffer',
  incompleteMessageTimeout: 'limits.incompleteMessage',
  maxSendBufferSize: 'limits.sendBuffer',
  tlsOptions: 'tls'
}
