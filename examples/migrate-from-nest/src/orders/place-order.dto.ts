import { Type } from 'class-transformer'
import { ArrayNotEmpty, IsInt, IsNotEmpty, IsString, Min, ValidateNested } from 'class-validator'

export class OrderItemDto {
  @IsString()
  @IsNotEmpty()
  article!: string

  @IsInt()
  @Min(1)
  @Type(() => Number)
  quantity!: number
}

export class PlaceOrderDto {
  @IsString()
  @IsNotEmpty()
  customer!: string

  @ArrayNotEmpty()
  @ValidateNested({ each: true })
  @Type(() => OrderItemDto)
  items!: OrderItemDto[]
}
