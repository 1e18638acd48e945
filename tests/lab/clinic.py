"""A small environment, as a stranger would write one. Tests run it by name: ``clinic:Clinic``."""

from btm.lab.declared import GoldTask, tool


class Clinic:
    fallback_map = "clinic.yaml"

    def __init__(self) -> None:
        self.patients = {"P7": {"patient_id": "P7", "name": "Ida Berg", "visits": ["V1", "V2"]}}
        self.visits = {
            "V1": {"visit_id": "V1", "patient_id": "P7", "doctor": "Dr. Roth", "status": "booked"},
            "V2": {"visit_id": "V2", "patient_id": "P7", "doctor": "Dr. Lang", "status": "booked"},
        }

    @tool("read")
    def find_patient(self, name: str) -> dict:
        """Find a patient by full name."""
        return next(p for p in self.patients.values() if p["name"] == name)

    @tool("read")
    def get_visit(self, visit_id: str) -> dict:
        """Return a visit."""
        return self.visits[visit_id]

    @tool("read")
    def list_visits(self, patient_id: str, doctors: list[str] | None = None) -> list:
        """Return a patient's visits, with these doctors only."""
        mine = [v for v in self.visits.values() if v["patient_id"] == patient_id]
        return [v for v in mine if doctors is None or v["doctor"] in doctors]

    @tool("write")
    def cancel_visit(self, visit_id: str) -> dict:
        """Cancel a visit."""
        self.visits[visit_id]["status"] = "cancelled"
        return self.visits[visit_id]

    tasks = (
        GoldTask(
            "I am Ida Berg. Cancel my first visit, please.",
            [
                ("find_patient", {"name": "Ida Berg"}),
                ("get_visit", {"visit_id": "V1"}),
                ("cancel_visit", {"visit_id": "V1"}),
            ],
        ),
        GoldTask(
            "I am Ida Berg. Who is my visit V2 with?",
            [("find_patient", {"name": "Ida Berg"}), ("get_visit", {"visit_id": "V2"})],
            tell=["Dr. Lang"],
        ),
    )
