/** The headers of Connect and gRPC-Web for pages of other origins. */

/**
 * Options for Elysia's plugin `cors()`, without the origins, so that pages of other origins may call:
 * `cors({ ...connectCors, origin: 'https://shop.example' })`.
 */
export const connectCors = {
  /** Methods of requests. */
  methods: ['POST', 'GET'],
  /** Headers that clients of Connect and gRPC-Web send. Add those of your own. */
  allowedHeaders: [
    'Content-Type',
    'Connect-Protocol-Version',
    'Connect-Timeout-Ms',
    'Grpc-Timeout',
    'X-Grpc-Web',
    'X-User-Agent'
  ],
  /** Headers of answers that clients read. */
  exposeHeaders: ['Grpc-Status', 'Grpc-Message', 'Grpc-Status-Details-Bin', 'X-Request-Id'],
  /** Seconds for which a browser remembers the permission: the most that Chromium accepts. */
  maxAge: 7_200
}
