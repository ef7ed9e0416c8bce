/** The errors that callers may get. */

interface OwnError extends Error {
  readonly code: string
  readonly mayHaveRun: boolean
}

export function isRpcError(error: unknown): error is OwnError {
  return (
    error instanceof Error &&
    typeof (error as Partial<OwnError>).mayHaveRun === 'boolean' &&
    typeof (error as Partial<OwnError>).code === 'string'
  )
}
