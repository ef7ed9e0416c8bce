/** Pictures as bytes: red, green, blue and opacity of each pixel, row by row. */

/** A picture. */
export interface Picture {
  readonly width: number
  readonly height: number
  /** Four bytes for each pixel. */
  readonly pixels: Uint8Array
}

/**
 * Halves the width and height of a picture: each new pixel is the mean of four pixels. An odd row or column at the
 * edge is left out.
 */
export function halve({ width, height, pixels }: Picture): Picture {
  const [newWidth, newHeight] = [Math.floor(width / 2), Math.floor(height / 2)]
  const halved = new Uint8Array(newWidth * newHeight * 4)
  const at = (x: number, y: number, channel: number) => pixels[(y * width + x) * 4 + channel] as number
  for (let y = 0; y < newHeight; y++)
    for (let x = 0; x < newWidth; x++)
      for (let channel = 0; channel < 4; channel++) {
        const [left, top] = [2 * x, 2 * y]
        const upper = at(left, top, channel) + at(left + 1, top, channel)
        const lower = at(left, top + 1, channel) + at(left + 1, top + 1, channel)
        halved[(y * newWidth + x) * 4 + channel] = (upper + lower) / 4
      }
  return { width: newWidth, height: newHeight, pixels: halved }
}
