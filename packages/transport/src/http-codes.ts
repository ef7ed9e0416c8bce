/**
 * Names of HTTP statuses as error codes: for errors made with a status, and for gateways that need the status of a
 * code.
 */

/** Codes by HTTP status (RFC 9110, 15.5 and 15.6, and later RFCs). */
export const HTTP_CODES: ReadonlyMap<number, string> = new Map([
  [400, 'BAD_REQUEST'],
  [401, 'UNAUTHORIZED'],
  [402, 'PAYMENT_REQUIRED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [406, 'NOT_ACCEPTABLE'],
  [408, 'REQUEST_TIMEOUT'],
  [409, 'CONFLICT'],
  [410, 'GONE'],
  [412, 'PRECONDITION_FAILED'],
  [413, 'PAYLOAD_TOO_LARGE'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
  [421, 'MISDIRECTED'],
  [422, 'UNPROCESSABLE_ENTITY'],
  [423, 'LOCKED'],
  [424, 'FAILED_DEPENDENCY'],
  [428, 'PRECONDITION_REQUIRED'],
  [429, 'TOO_MANY_REQUESTS'],
  [500, 'INTERNAL'],
  [501, 'NOT_IMPLEMENTED'],
  [502, 'BAD_GATEWAY'],
  [503, 'SERVICE_UNAVAILABLE'],
  [504, 'GATEWAY_TIMEOUT']
])

/** The code for a status; a status without a code gets that of 400 or 500. */
export function codeOfStatus(status: number): string {
  return HTTP_CODES.get(status) ?? (status < 500 ? 'BAD_REQUEST' : 'INTERNAL')
}

/** Whether a value is an HTTP status of an error. */
export function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599
}
