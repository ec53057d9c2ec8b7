import type { ButtonHTMLAttributes } from 'react'

type Props = ButtonHTMLAttributes<HTMLButtonElement> & { readonly kind?: 'primary' | 'danger' | 'quiet' }

export function Button({ kind, type = 'button', ...rest }: Props) {
  return <button className="button" data-kind={kind} type={type} {...rest} />
}
