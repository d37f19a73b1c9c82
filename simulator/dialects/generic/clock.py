"""Virtual time as this API writes it: RFC 3339, by the Gregorian calendar."""

from typing import Final

EPOCH_DAY: Final = 20_454  # 2026-01-01, in days since 1970-01-01: where virtual time begins


def instant(virtual_s: float) -> str:
    """Return an instant of virtual time as RFC 3339 writes it, by the Gregorian calendar."""
    days, second = divmod(int(virtual_s), 86_400)
    # Years that begin in March put the leap day last, where it disturbs nobody.
    era, day = divmod(days + EPOCH_DAY + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month, year = (month + 3, year) if month < 10 else (month - 9, year + 1)
    hour, minute = second // 3_600, second // 60 % 60
    date = f"{era * 400 + year:04}-{month:02}-{day + 1:02}"
    return f"{date}T{hour:02}:{minute:02}:{second % 60:02}Z"
