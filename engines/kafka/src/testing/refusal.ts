/** The error for a request that a broker of the fake cluster refuses; see `driver.ts`. */
export function refusal(codes: number | readonly number[], response?: unknown): Error {
  const errors = [codes].flat().map((apiCode) => {
    return Object.assign(new Error(`The broker answers with error ${apiCode}`), { apiCode })
  })
  const error = new AggregateError(errors, 'The broker refuses the request, or a part of it')
  return Object.assign(error, response === undefined ? {} : { response })
}
