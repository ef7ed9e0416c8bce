/** Options of Nest's TCP transport that have another name here. */
export const NEST_OPTION_NAMES: Readonly<Record<string, string>> = {
  maxBufferSize: 'limits.receiveBuffer',
  incompleteMessageTimeout: 'limits.incompleteMessage',
  maxSendBufferSize: 'limits.sendBuffer',
  tlsOptions: 'tls'
}
